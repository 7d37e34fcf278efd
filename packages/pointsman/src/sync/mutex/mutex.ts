/** A mutual exclusion lock: at most one holder, FIFO within a priority. */

import { asyncDispose } from '../dispose.js';
import { causeOf, detached } from '../errors.js';
import type { WaitOptions } from '../options.js';
import type { Permit } from '../semaphore/permit.js';
import { Semaphore } from '../semaphore/semaphore.js';
import type { QueueOptions } from '../wait/queue.js';
import {
  acquire,
  assertHeld,
  type LockOptions,
  run,
  type TryLockOptions,
  tryAcquire,
} from './lock.js';

/**
 * A mutual exclusion lock with the guarantees of {@link Semaphore}. It is not reentrant: a holder that locks again waits
 * for itself forever, or is rejected if both requests name the same `owner`.
 *
 * @example
 * ```ts
 * import { Mutex } from 'pointsman';
 *
 * const mutex = new Mutex();
 * let balance = 100;
 *
 * async function withdraw(amount: number): Promise<void> {
 *   using lock = await mutex.lock();
 *   const before = balance;
 *   await new Promise((resolve) => setTimeout(resolve, 1));
 *   balance = before - amount;
 * }
 *
 * await Promise.all([withdraw(10), withdraw(20)]);
 * console.log(balance); // 70
 * ```
 */
export class Mutex {
  /** A semaphore of one permit. */
  readonly #lock: Semaphore;
  #conditionWaits: Set<(reason: unknown) => void> | undefined;

  constructor(options?: QueueOptions) {
    this.#lock = new Semaphore(1, options);
  }

  /** Whether the lock is held. */
  get locked(): boolean {
    return this.#lock.available === 0;
  }

  /** The number of waiting requests. */
  get waiting(): number {
    return this.#lock.waiting;
  }

  /** The `owner` of the holder; `undefined` if the lock is free or the holder passed none. */
  get owner(): unknown {
    return this.#lock._owner;
  }

  /** Whether {@link close} or {@link shutdown} has been called. */
  get closed(): boolean {
    return this.#lock.closed;
  }

  /**
   * Acquires the lock; waits until it is this request's turn. Release the permit that it grants, or declare it with
   * `using`.
   *
   * Rejects as {@link Semaphore.acquire} does, and with a {@link ReentrancyError} if the same `owner` holds the lock.
   *
   * @example
   * ```ts
   * import { Mutex } from 'pointsman';
   *
   * const mutex = new Mutex();
   * using lock = await mutex.lock({ owner: 'import', timeout: 1_000 });
   * await mutex.lock({ owner: 'import' }).catch((error) => console.log(error.name)); // ReentrancyError
   * ```
   */
  lock(options?: LockOptions): Promise<Permit> {
    try {
      return acquire(this.#lock, options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, Mutex, 'lock'));
    }
  }

  /**
   * Acquires the lock without waiting; returns `undefined` if it is held.
   *
   * @throws The reason of {@link close}, if closed; a {@link ReentrancyError} if the same `owner` holds the lock.
   */
  tryLock(options?: TryLockOptions): Permit | undefined {
    if (!(this instanceof Mutex)) throw detached('tryLock');
    return tryAcquire(this.#lock, options);
  }

  /**
   * Runs `fn` with the lock. As {@link Semaphore.run}.
   *
   * @example
   * ```ts
   * import { Mutex } from 'pointsman';
   *
   * const mutex = new Mutex();
   * console.log(await mutex.run(() => mutex.locked)); // true
   * console.log(mutex.locked); // false
   * ```
   */
  run<T>(fn: (lock: Permit) => T | PromiseLike<T>, options?: LockOptions): Promise<T> {
    try {
      return run(this.#lock, fn, options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, Mutex, 'run'));
    }
  }

  /**
   * Throws a `TypeError` unless `lock` is held and was granted by this mutex.
   *
   * @example
   * ```ts
   * import { Mutex } from 'pointsman';
   *
   * const mutex = new Mutex();
   * const lock = await mutex.lock();
   * mutex.assertHeldBy(lock);
   * lock.release();
   * try { mutex.assertHeldBy(lock); } catch (error) { console.log((error as Error).name); } // TypeError
   * ```
   */
  assertHeldBy(lock: Permit): void {
    if (!(this instanceof Mutex)) throw detached('assertHeldBy');
    assertHeld(this.#lock, lock);
  }

  /** Waits until the lock is free and no request waits. As {@link Semaphore.drain}. */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Mutex)) throw detached('drain');
    return this.#lock.drain(options);
  }

  /**
   * Shuts down gracefully. As {@link Semaphore.shutdown}.
   *
   * A wait at a {@link Condition} continues, and acquires the lock again as before. When the lock is free and no request
   * waits for it, no holder is left that could notify: the remaining waits reject with the `ClosedError`, without the
   * lock.
   */
  async shutdown(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Mutex)) throw detached('shutdown');
    const done = this.#lock.shutdown(options);
    if (this.#lock.idle) this.#endConditionWaits();
    return done;
  }

  /** Rejects waiting and new requests. As {@link Semaphore.close}. */
  close(reason?: unknown): void {
    if (!(this instanceof Mutex)) throw detached('close');
    this.#lock.close(reason);
    this.#endConditionWaits(reason);
  }

  /** Rejects all waiting requests; the mutex stays open. As {@link Semaphore.cancel}. */
  cancel(reason?: unknown): void {
    if (!(this instanceof Mutex)) throw detached('cancel');
    this.#lock.cancel(reason);
  }

  /** @internal Each function ends a pending wait at a condition with a reason, without the lock. */
  get _conditionWaits(): Set<(reason: unknown) => void> {
    if (this.#conditionWaits === undefined) {
      this.#conditionWaits = new Set();
      this.#lock._onIdle = () => this.#endConditionWaits();
    }
    return this.#conditionWaits;
  }

  /** Ends all waits at conditions if the lock is refused from now on: no holder can notify them. */
  #endConditionWaits(reason?: unknown): void {
    const ending = this.#lock._ending;
    if (ending === undefined) return;
    for (const end of this.#conditionWaits ?? [])
      end(reason === undefined ? ending.reason : reason);
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }
}
