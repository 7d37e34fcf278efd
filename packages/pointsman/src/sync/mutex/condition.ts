/**
 * A condition variable: holders of a lock wait at it until another holder says that things have changed.
 *
 * Invariant: no notification is missed that is given under the lock. Who waits is in the queue before its lock goes
 * back, and stands in the queue for the lock from the very step in which it was notified or gave up.
 */

import { cancelledError, checkFunction, detached, invalid, timedOut } from '../errors.js';
import { wakeNext } from '../notify.js';
import type { WaitOptions } from '../options.js';
import type { Permit } from '../semaphore/permit.js';
import { claim, giveUpOn, isOver } from '../wait/give-up.js';
import { readRequest, WaitQueue } from '../wait/queue.js';
import type { Gate } from './gate.js';
import { Mutex } from './mutex.js';

/**
 * Where holders of a lock wait until what the lock guards has changed. A mutex may have several, one for each thing
 * to wait for.
 *
 * @example
 * ```ts
 * import { Condition, Mutex } from 'pointsman';
 *
 * const mutex = new Mutex();
 * const notEmpty = new Condition(mutex);
 * const jobs: string[] = [];
 *
 * async function take(): Promise<string | undefined> {
 *   using lock = await mutex.lock();
 *   await notEmpty.waitFor(lock, () => jobs.length > 0, { timeout: 1_000 });
 *   return jobs.shift(); // the lock is held
 * }
 *
 * async function put(job: string): Promise<void> {
 *   using lock = await mutex.lock();
 *   jobs.push(job);
 *   notEmpty.notify();
 * }
 *
 * console.log(await Promise.all([take(), put('sweep')])); // [ 'sweep', undefined ]
 * ```
 */
export class Condition {
  readonly #mutex: Mutex;
  #queue: WaitQueue<void> | undefined;

  /**
   * @param mutex Whose locks wait here.
   * @throws {TypeError} for anything else.
   */
  constructor(mutex: Mutex) {
    if (!(mutex instanceof Mutex)) throw invalid('mutex', mutex, 'a Mutex');
    this.#mutex = mutex;
  }

  /** How many wait for a notification. Who was notified and waits for the lock is one of those who wait there. */
  get waiting(): number {
    return this.#queue?.length ?? 0;
  }

  /**
   * Gives the lock back, waits for a notification, and holds the same lock again when it settles, also when it
   * rejects: so `using lock` stays right. It may wake although nothing has changed for it, because somebody else was
   * faster: check what you wait for in a loop, or call {@link waitFor}.
   *
   * `signal` and `timeout` bound the wait for the notification, and `timeout: 0` gives nothing back. Whoever was
   * notified or gave up then waits for the lock behind those who waited for it before, however long that takes. A
   * notification counts if it came before the abort, also in the same step. As a case of a `select` it wins by its
   * notification; if it loses, it comes back for the lock all the same, at once where nobody else holds it.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, and with a `TypeError`
   * for a lock that is not held or belongs to another mutex. The lock is not held again, and `lock.released` says so,
   *
   * - if the mutex was closed, which ends the wait, or its `cancel` met this one as it waited for the lock, or its
   *   `maxWaiting` left no room: it rejects with the reason for that;
   * - if the mutex was shut down, and no request holds the lock or waits for it any more: it rejects with the
   *   `ClosedError`. Until then a shutdown does not affect the wait;
   * - if the lock was released by somebody meanwhile, at the end of a `using` block for example that did not await
   *   this: it rejects with an `AbortError`, and nobody comes back for the lock.
   */
  async wait(lock: Permit, options?: WaitOptions): Promise<void> {
    if (!(this instanceof Condition)) throw detached('wait');
    const gate = this.#gateOf(lock);
    const request = readRequest(options);
    this.#queue ??= new WaitQueue(gate._label);
    const queue = this.#queue;
    const notified = queue.insert(request);
    // Refused at once: then the lock stays where it is.
    if (!request.chunk) return notified;

    const { owner } = gate;
    gate._conditionWaits ??= new Set();
    gate._watched = true;
    const waits = gate._conditionWaits;
    let again: Promise<Permit> | undefined;
    let abandoned = false;
    const leave = (): void => queue.reject(cancelledError(gate._label), request);
    const end = (reason: unknown): void => {
      again = Promise.reject(reason);
      leave();
    };
    waits.add(end);
    const { resolve } = request;
    request.resolve = (outcome) => {
      waits.delete(end);
      if (!abandoned) {
        again ??= gate._reacquire();
        again.catch(() => {}); // Its reason is told below.
      }
      resolve?.(outcome);
    };
    lock._issuer = {
      _giveBack() {
        abandoned = true;
        if (waits.has(end)) leave();
      },
    };
    gate._giveBack(1);
    try {
      await notified;
    } finally {
      const held = await again?.catch((reason) => {
        lock._issuer = undefined;
        throw reason;
      });
      if (abandoned) {
        held?._giveBack();
      } else if (held !== undefined) {
        gate._hold(lock, owner);
      }
    }
    if (abandoned) throw cancelledError(gate._label);
  }

  /**
   * Waits until `predicate` holds, which is asked under the lock: before it waits, and whenever it was notified. All
   * else is as with {@link wait}; `timeout` bounds all the waits for notifications together.
   *
   * What `predicate` throws or rejects with is what this rejects with, and the lock is held.
   */
  async waitFor(
    lock: Permit,
    predicate: () => boolean | PromiseLike<boolean>,
    options?: WaitOptions,
  ): Promise<void> {
    if (!(this instanceof Condition)) throw detached('waitFor');
    const gate = this.#gateOf(lock);
    const request = readRequest(options);
    checkFunction('predicate', predicate);
    // A signal of its own: under that of a `select`, the first notification would be what it is granted.
    const controller = new AbortController();
    const stop = giveUpOn(
      request,
      (reason) => controller.abort(reason),
      (timeout) => timedOut(timeout, gate._label),
    );
    const only = { signal: controller.signal, timeout: request.timeout === 0 ? 0 : undefined };
    try {
      while (!(await predicate())) await this.wait(lock, only);
    } finally {
      stop();
    }
    // Nobody may listen any more; then the notification that it has had is for somebody else.
    if (isOver(request.signal)) this.notify();
    else claim(request.signal);
  }

  /**
   * Wakes who has waited longest. Give it while you hold the lock, or who waits may look before what you changed can
   * be seen. Nothing is kept if nobody waits.
   */
  notify(): void {
    if (!(this instanceof Condition)) throw detached('notify');
    if (this.#queue) wakeNext(this.#queue);
  }

  /** Wakes all who wait now. They hold the lock one after the other, in the order in which they came. */
  notifyAll(): void {
    if (!(this instanceof Condition)) throw detached('notifyAll');
    this.#queue?.resolveAll();
  }

  #gateOf(lock: Permit): Gate {
    this.#mutex.assertHeldBy(lock);
    return lock._issuer as Gate;
  }
}
