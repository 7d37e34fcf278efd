/** A mutual exclusion lock: one holder at a time, waiters first come, first served. */

import { asyncDispose } from '../dispose.js';
import { causeOf, detached } from '../errors.js';
import type { WaitOptions } from '../options.js';
import type { Permit } from '../semaphore/permit.js';
import type { TryAcquireOptions } from '../semaphore/semaphore.js';
import type { QueueOptions } from '../wait/queue.js';
import { assertHeld, Gate } from './gate.js';

/** What {@link Mutex.tryLock} may be told. */
export interface TryLockOptions {
  /**
   * Who asks: any value but `undefined`, compared by identity. An owner that holds the lock already is
   * refused with a `ReentrancyError`, instead of waiting for itself forever.
   */
  readonly owner?: unknown;
}

/** What {@link Mutex.lock} may be told. */
export interface LockOptions extends WaitOptions, TryLockOptions {
  /** As in `AcquireOptions.priority`. */
  readonly priority?: number | undefined;
}

/**
 * Lets one in at a time.
 *
 * The laws are those of {@link Semaphore}: FIFO, giving up leaves no trace, release is exactly once, the
 * caller's context is kept. The lock is not reentrant: a holder that locks again waits for itself,
 * unless it says who it is with `owner` and is told so.
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
  readonly #gate: Gate;

  /** @throws {RangeError | TypeError} for options that cannot be used. */
  constructor(options?: QueueOptions) {
    this.#gate = new Gate(options);
  }

  /** Whether somebody holds the lock. */
  get locked(): boolean {
    return !this.#gate.idle;
  }

  /** How many requests wait in the queue. */
  get waiting(): number {
    return this.#gate.waiting;
  }

  /** The `owner` that the holder gave; `undefined` while nobody holds the lock or the holder gave none. */
  get owner(): unknown {
    return this.#gate.owner;
  }

  /** Whether {@link close} or {@link shutdown} has been called. */
  get closed(): boolean {
    return this.#gate.closed;
  }

  /**
   * Takes the lock, waiting in the queue until it is this request's turn. The permit that it grants is
   * the lock: release it, or let `using` do so.
   *
   * Never throws: it rejects as {@link Semaphore.acquire} does, and with a {@link ReentrancyError} when
   * the same `owner` holds the lock.
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
      return this.#gate.acquire(options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, Mutex, 'lock'));
    }
  }

  /**
   * Takes the lock if that needs no waiting; otherwise it is `undefined` and nothing has changed.
   *
   * @throws The reason of {@link close}, if closed; a {@link ReentrancyError} when the same `owner`
   * holds the lock.
   */
  tryLock(options?: TryLockOptions): Permit | undefined {
    if (!(this instanceof Mutex)) throw detached('tryLock');
    return this.#gate.tryAcquire(options as TryAcquireOptions);
  }

  /**
   * Runs `fn` under the lock, and unlocks when the result of `fn` has settled. The result, value or
   * error, is that of `fn`; `fn` is given the lock.
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
      return this.#gate.run(fn, options);
    } catch (error) {
      return Promise.reject(causeOf(error, this, Mutex, 'run'));
    }
  }

  /**
   * For code that must only run under the lock: throws unless `lock` is held, and is a lock of this very
   * mutex.
   *
   * @throws {TypeError} naming what is wrong.
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
    assertHeld(this.#gate, lock);
  }

  /** Waits until nobody holds the lock or waits for it. As {@link Semaphore.drain}. */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Mutex)) throw detached('drain');
    return this.#gate.drain(options);
  }

  /**
   * Shuts down gracefully: refuses new requests, serves those that wait, and resolves when the lock is free and stays
   * free. See {@link Semaphore.shutdown}.
   *
   * A wait at a {@link Condition} continues: once it is notified or gives up, it acquires the lock again as before.
   * When the lock is free and no request waits for it, no holder is left that could notify: the remaining waits at
   * conditions reject with the `ClosedError`, without the lock.
   */
  async shutdown(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Mutex)) throw detached('shutdown');
    return this.#gate.shutdown(options);
  }

  /** Sends all waiters away and refuses all requests from now on. As {@link Semaphore.close}. */
  close(reason?: unknown): void {
    if (!(this instanceof Mutex)) throw detached('close');
    this.#gate.close(reason);
  }

  /** Sends all waiters away, and goes on. As {@link Semaphore.cancel}. */
  cancel(reason?: unknown): void {
    if (!(this instanceof Mutex)) throw detached('cancel');
    this.#gate.cancel(reason);
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }
}
