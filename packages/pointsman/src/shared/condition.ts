/**
 * A condition variable: a holder of a lock waits at it until another holder notifies it of a change.
 *
 * Invariant: no notification sent under the lock is missed. The waiter is parked on the server before its lock is
 * released, and a notification moves it from the condition into the queue for its keys.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { checkInteger, detached, invalid, ReentrancyError, timedOut } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { Acquisition, SharedGuard } from './acquisition.js';
import type { Metrics } from './metrics.js';
import type { StrictQueue } from './strict.js';

/** A condition variable. Holders of different locks of the namespace can share it by its name. */
export class SharedCondition {
  readonly name: string;
  readonly #strict: () => StrictQueue;
  readonly #metrics: Metrics;

  /** @internal */
  constructor(name: string, strict: () => StrictQueue, metrics: Metrics) {
    this.name = name;
    this.#strict = strict;
    this.#metrics = metrics;
  }

  /**
   * Releases the guard's lock, waits for a notification and takes the lock on all keys again; the guard then has a new
   * token. Resolves to true after a notification and to false after `timeout`, which bounds the wait for the
   * notification from the moment when the waiter is parked on the server. With 0 it resolves to false at once, and the
   * lock is kept.
   *
   * It may wake without a notification, for example after a lost connection: check the awaited state in a loop. After
   * waking, it waits for its keys behind earlier requests, however long that takes. If it rejects because `signal` has
   * aborted, the guard holds the lock again, unless the mutex was closed or the server cannot be used. If the lock is
   * lost before the waiter is parked, it rejects with a `LockLostError`.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedMutex } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const mutex = new SharedMutex(redis(client));
   * const jobs: string[] = [];
   * const notEmpty = mutex.condition('not-empty');
   *
   * const consumer = mutex.run('jobs', async (guard) => {
   *   while (jobs.length === 0) await notEmpty.wait(guard);
   *   return jobs.pop();
   * });
   * await mutex.run('jobs', async () => {
   *   jobs.push('one');
   *   await notEmpty.notify();
   * });
   * console.log(await consumer); // one
   * await mutex.close();
   * client.disconnect();
   * ```
   */
  async wait(guard: SharedGuard, options: WaitOptions = {}): Promise<boolean> {
    if (!(this instanceof SharedCondition)) throw detached('wait');
    const before = guard instanceof SharedGuard ? guard._acquisition : undefined;
    const strict = before && this.#strict();
    if (before === undefined || strict?.session !== before.queue.session) {
      throw invalid('guard', guard, 'a guard of this mutex');
    }
    checkWaitOptions(options);
    const { signal, timeout } = options;
    if (signal?.aborted) throw signal.reason;
    guard.assertValid();
    const { session } = strict;
    const { guards } = before;
    if (guards.length > 1) {
      const message = `${session.label}the lock has ${guards.length} guards, and would stay locked`;
      throw new ReentrancyError(message, before.owner);
    }
    // No notification can arrive, because its sender needs the lock that this call keeps.
    if (timeout === 0) return false;
    let acquisition!: Acquisition;
    const again = new Promise((resolve) => {
      acquisition = new Acquisition(
        strict,
        this.#metrics,
        before.keys,
        { owner: before.owner, maxHold: before.maxHold, guard },
        resolve,
      );
    });
    // If parking fails, the error is thrown below, and the acquisition may reject too.
    again.catch(() => {});
    await strict.park(acquisition, this.name);
    if (before.state !== 'held' && acquisition.state !== 'over') {
      // The lock was lost before the waiter was parked, so a notification may have been missed. An acquisition that is
      // over was refused because the mutex was closed, and rejects with the reason below.
      acquisition.giveUp(undefined);
      void acquisition.release(guard);
      guard.assertValid();
    }
    void before.release(guard);

    const wake = async (): Promise<boolean> => {
      for (;;) {
        const id = strict.idOf(acquisition);
        if (acquisition.state !== 'waiting' || id === undefined) return false;
        try {
          return (await session.number({ name: 'wake', id })) > 0;
        } catch {
          // The server refused; the waiter stays parked until it accepts.
          await delay(session.ttl / 3, undefined, { ref: false });
        }
      }
    };
    // Awaited after the lock is held again, because the reply that wakes the waiter may also grant the lock.
    let woken: Promise<boolean> | undefined;
    const giveUp = (): void => {
      woken = wake();
    };
    // The signal may have aborted while the waiter was being parked.
    const aborted = signal?.aborted;
    if (aborted) giveUp();
    const stop = aborted
      ? undefined
      : giveUpOn({ signal, timeout }, giveUp, (ms) => timedOut(ms, session.label));
    try {
      await again;
    } finally {
      stop?.();
    }
    if (signal?.aborted) throw signal.reason;
    return !(await woken);
  }

  /**
   * Wakes up to `count` waiters, FIFO; by default one. Resolves to the number of waiters woken. Call it while you hold
   * the lock that the waiters use; otherwise they may check the state before your change is visible.
   */
  async notify(count = 1): Promise<number> {
    if (!(this instanceof SharedCondition)) throw detached('notify');
    checkInteger('count', count, 1, 2 ** 31 - 1);
    return this.#strict().session.number({ name: 'notify', condition: this.name, count });
  }

  /** Wakes all waiters. Resolves to their number. */
  async notifyAll(): Promise<number> {
    if (!(this instanceof SharedCondition)) throw detached('notifyAll');
    return this.notify(2 ** 31 - 1);
  }
}
