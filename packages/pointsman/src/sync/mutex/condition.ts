/**
 * A condition variable: holders of a lock wait until another holder notifies them.
 *
 * Invariant: a notification sent with the lock held is not missed. A waiter enters the queue before its lock is
 * released, and requests the lock again in the step in which it is notified or gives up.
 */

import { cancelledError, checkFunction, detached, invalid, timedOut } from '../errors.js';
import { wakeNext } from '../notify.js';
import type { WaitOptions } from '../options.js';
import type { Permit } from '../semaphore/permit.js';
import type { Semaphore } from '../semaphore/semaphore.js';
import { giveUpOn, isOver, winContest } from '../wait/give-up.js';
import { readWait, WaitQueue } from '../wait/queue.js';
import { Mutex } from './mutex.js';

/**
 * Lets holders of a lock wait until the data that it guards has changed. A mutex may have several conditions.
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

  /** @throws {TypeError} unless `mutex` is a `Mutex`. */
  constructor(mutex: Mutex) {
    if (!(mutex instanceof Mutex)) throw invalid('mutex', mutex, 'a Mutex');
    this.#mutex = mutex;
  }

  /** The number of waits for a notification. Notified waiters that wait for the lock count as `waiting` of the mutex. */
  get waiting(): number {
    return this.#queue?.length ?? 0;
  }

  /**
   * Releases the lock, waits for a notification, and holds the same lock again when it settles, also when it rejects: so
   * `using lock` stays right. Another holder may have been faster, so check the data in a loop or call {@link waitFor}.
   *
   * `signal` and `timeout` bound the wait for the notification; with `timeout: 0` the lock is not released. After a
   * notification or giving up it waits for the lock behind earlier requests, without bound. A notification counts if it
   * came before the abort, also in the same step. As a case of a `select` it wins by its notification; a losing case
   * still acquires the lock again.
   *
   * Never throws. Rejects with the signal's reason, a `TimeoutError`, or a `TypeError` for a lock that is not held or
   * belongs to another mutex. In three cases the lock is not held again, and `lock.released` is true:
   *
   * - The mutex was closed, or `cancel` or `maxWaiting` rejected the request for the lock: rejects with that reason.
   * - The mutex was shut down, and no request holds the lock or waits for it any more: rejects with the `ClosedError`.
   *   Until then a shutdown does not affect the wait.
   * - The lock was released meanwhile, for example by a `using` block that did not await this: rejects with an
   *   `AbortError`.
   */
  async wait(lock: Permit, options?: WaitOptions): Promise<void> {
    if (!(this instanceof Condition)) throw detached('wait');
    const semaphore = this.#semaphoreOf(lock);
    const label = semaphore._label;
    const request = readWait(options);
    this.#queue ??= new WaitQueue(label);
    const queue = this.#queue;
    const notified = queue.insert(request);
    // Refused at once: the lock is not released.
    // `await` handles a rejection in this step; workerd reports it otherwise.
    if (!request.chunk) return await notified;

    const owner = semaphore._owner;
    const waits = this.#mutex._conditionWaits;
    let again: Promise<Permit> | undefined;
    let abandoned = false;
    const leave = (): void => queue.reject(cancelledError(label), request);
    const end = (reason: unknown): void => {
      again = Promise.reject(reason);
      leave();
    };
    waits.add(end);
    const { resolve } = request;
    request.resolve = (outcome) => {
      waits.delete(end);
      if (!abandoned) {
        again ??= acquireAgain(semaphore);
        again.catch(() => {}); // Its reason is thrown below.
      }
      resolve?.(outcome);
    };
    lock._issuer = {
      _giveBack() {
        abandoned = true;
        if (waits.has(end)) leave();
      },
    };
    semaphore._giveBack(1);
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
        lock._issuer = semaphore;
        semaphore._owner = owner;
      }
    }
    if (abandoned) throw cancelledError(label);
  }

  /**
   * Waits until `predicate` returns true. It is called with the lock held, first and after each notification; an error of
   * it rejects this call with the lock held. Otherwise as {@link wait}; `timeout` bounds all waits together.
   */
  async waitFor(
    lock: Permit,
    predicate: () => boolean | PromiseLike<boolean>,
    options?: WaitOptions,
  ): Promise<void> {
    if (!(this instanceof Condition)) throw detached('waitFor');
    const semaphore = this.#semaphoreOf(lock);
    const request = readWait(options);
    checkFunction('predicate', predicate);
    // A separate signal: with that of a `select`, the first notification would win.
    const controller = new AbortController();
    const stop = giveUpOn(
      request,
      (reason) => controller.abort(reason),
      (timeout) => timedOut(timeout, semaphore._label),
    );
    const only = { signal: controller.signal, timeout: request.timeout === 0 ? 0 : undefined };
    try {
      while (!(await predicate())) await this.wait(lock, only);
    } finally {
      stop();
    }
    // A wait that is over does not use its notification: that goes to the next waiter.
    if (isOver(request.signal)) this.notify();
    else winContest(request.signal);
  }

  /**
   * Wakes the waiter that has waited longest, if any. Call it with the lock held; otherwise the waiter may check the data
   * before your change.
   */
  notify(): void {
    if (!(this instanceof Condition)) throw detached('notify');
    if (this.#queue) wakeNext(this.#queue);
  }

  /** Wakes all current waiters. They acquire the lock one after the other, in the order of arrival. */
  notifyAll(): void {
    if (!(this instanceof Condition)) throw detached('notifyAll');
    this.#queue?.resolveAll();
  }

  #semaphoreOf(lock: Permit): Semaphore {
    this.#mutex.assertHeldBy(lock);
    return lock._issuer as Semaphore;
  }
}

/** Requests the lock again, also after a shutdown: the wait began with the lock. */
function acquireAgain(semaphore: Semaphore): Promise<Permit> {
  const ending = semaphore._ending;
  semaphore._ending = undefined;
  const again = semaphore.acquire();
  semaphore._ending = ending;
  return again;
}
