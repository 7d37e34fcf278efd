/**
 * A condition variable: holders of a lock wait at it until another holder says that things have
 * changed.
 *
 * Invariant: no notification given under the lock is missed. The waiter is parked on the server before
 * its lock goes back, and a notification moves it from the condition into the queue for its keys.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { checkInteger, detached, invalid, ReentrancyError } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { Acquisition } from './acquisition.js';
import { type Hold, RedisGuard } from './guard.js';
import type { Metrics } from './metrics.js';
import type { Session } from './session/session.js';
import type { StrictQueue } from './strict.js';

/** Holders of any locks of the namespace can wait at a condition; its name is all that they share. */
export class RedisCondition {
  readonly name: string;
  readonly #session: () => Session;
  readonly #strictOf: (session: Hold['session']) => StrictQueue | undefined;
  readonly #metrics: Metrics;

  /** @internal */
  constructor(
    name: string,
    session: () => Session,
    strictOf: (session: Hold['session']) => StrictQueue | undefined,
    metrics: Metrics,
  ) {
    this.name = name;
    this.#session = session;
    this.#strictOf = strictOf;
    this.#metrics = metrics;
  }

  /**
   * Gives the guard's lock back, waits for a notification and takes the lock again, all or nothing as
   * before; the guard then has a new token. Resolves to whether it was notified: false means that
   * `timeout` ran out. That bounds the wait for a notification, from when it is parked on the server; 0
   * resolves to false at once, and the lock is kept.
   *
   * It may wake without a reason, after a loss of the connection for example: check what you wait for
   * in a loop. When it has woken it waits for its keys behind those who asked for them before, however
   * long that takes. Also when it rejects, because `signal` has aborted, the guard holds the lock again,
   * unless the mutex was closed or the server cannot be used.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { RedisMutex } from 'pointsman/redis';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const mutex = new RedisMutex(client);
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
  async wait(guard: RedisGuard, options: WaitOptions = {}): Promise<boolean> {
    if (!(this instanceof RedisCondition)) throw detached('wait');
    const before = guard instanceof RedisGuard ? guard._hold : undefined;
    const strict = before && this.#strictOf(before.session);
    if (before === undefined || strict === undefined) {
      throw invalid('guard', guard, 'a guard of this mutex');
    }
    checkWaitOptions(options);
    const { signal, timeout } = options;
    if (signal?.aborted) throw signal.reason;
    guard.assertValid();
    const { session } = strict;
    if (before.shares > 1) {
      const message = `${session.label}the lock has ${before.shares} guards, and would stay locked`;
      throw new ReentrancyError(message, before.owner);
    }
    // A notification needs the lock that would be kept.
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
    // What keeps it from being parked is thrown below, and may end the acquisition too.
    again.catch(() => {});
    await strict.park(acquisition, this.name);
    void before.release();

    const wake = async (): Promise<boolean> => {
      for (;;) {
        const id = strict.idOf(acquisition);
        if (acquisition.state !== 'waiting' || id === undefined) return false;
        try {
          return (await session.number({ name: 'wake', id })) > 0;
        } catch {
          // Refused; it is parked until the server allows it.
          await delay(session.ttl / 3, undefined, { ref: false });
        }
      }
    };
    // Known after the lock is held again: the answer that wakes may grant it too.
    let woken: Promise<boolean> | undefined;
    const giveUp = (): void => {
      woken = wake();
    };
    // The signal may have aborted while it was being parked.
    const aborted = signal?.aborted;
    if (aborted) giveUp();
    const stop = aborted
      ? undefined
      : giveUpOn({ signal, timeout }, giveUp, (ms) => acquisition.timedOut(ms));
    try {
      await again;
    } finally {
      stop?.();
    }
    if (signal?.aborted) throw signal.reason;
    return !(await woken);
  }

  /**
   * Wakes the first `count` of those who wait, in the order in which they came; by default one. Resolves
   * to how many there were. Give it while you hold the lock that they wait with, or they may look
   * before what you changed can be seen.
   */
  async notify(count = 1): Promise<number> {
    if (!(this instanceof RedisCondition)) throw detached('notify');
    checkInteger('count', count, 1, 2 ** 31 - 1);
    return this.#session().number({ name: 'notify', condition: this.name, count });
  }

  /** Wakes all who wait. Resolves to how many there were. */
  async notifyAll(): Promise<number> {
    if (!(this instanceof RedisCondition)) throw detached('notifyAll');
    return this.notify(2 ** 31 - 1);
  }
}
