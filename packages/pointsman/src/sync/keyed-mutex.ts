/** A mutual exclusion lock for each key: one holder of the same key at a time. */

import { assertHeld, Gate } from './gate.js';
import { Keyed, requestOf } from './keyed.js';
import type { LockOptions, TryLockOptions } from './mutex.js';
import type { Permit } from './permit.js';
import type { QueueOptions } from './queue.js';
import type { TryAcquireOptions } from './semaphore.js';

/**
 * Lets one in at a time for each key. Keys are independent of each other and compared as a `Map` compares
 * them. A key costs nothing unless somebody holds it or waits for it.
 *
 * The laws are those of {@link Mutex}, for each key.
 *
 * @example
 * ```ts
 * import { KeyedMutex } from 'pointsman';
 *
 * const accounts = new KeyedMutex<string>();
 *
 * const order: string[] = [];
 * await Promise.all([
 *   accounts.run('ann', async () => { await null; order.push('ann 1'); }),
 *   accounts.run('ann', () => order.push('ann 2')),
 *   accounts.run('bob', () => order.push('bob')),
 * ]);
 * console.log(order); // [ 'bob', 'ann 1', 'ann 2' ]
 * console.log(accounts.size); // 0
 * ```
 */
export class KeyedMutex<Key> extends Keyed<Key, Gate> {
  /** Whether somebody holds the lock of this key. */
  locked(key: Key): boolean {
    return this._find(key)?.idle === false;
  }

  /** The `owner` that the holder of this key gave, if any. */
  owner(key: Key): unknown {
    return this._find(key)?.owner;
  }

  /** Takes the lock of this key, waiting until it is this request's turn. As {@link Mutex.lock}. */
  lock(key: Key, options?: LockOptions): Promise<Permit> {
    return requestOf(this, 'lock', key, (entry) => entry.acquire(options));
  }

  /** Takes the lock of this key if that needs no waiting. As {@link Mutex.tryLock}. */
  tryLock(key: Key, options?: TryLockOptions): Permit | undefined {
    return this._request(key, (entry) => entry.tryAcquire(options as TryAcquireOptions));
  }

  /** Runs `fn` under the lock of this key. As {@link Mutex.run}. */
  run<T>(key: Key, fn: (lock: Permit) => T | PromiseLike<T>, options?: LockOptions): Promise<T> {
    return requestOf(this, 'run', key, (entry) => entry.run(fn, options));
  }

  /** Waits until the lock of this key could be had, and does not take it. As {@link Mutex.waitForUnlock}. */
  waitForUnlock(key: Key, options?: LockOptions): Promise<void> {
    return requestOf(this, 'waitForUnlock', key, (entry) => entry.waitForPermit(options));
  }

  /** Throws unless `lock` is held, and is a lock of this very key. As {@link Mutex.assertHeldBy}. */
  assertHeldBy(key: Key, lock: Permit): void {
    assertHeld(this._find(key), lock);
  }

  /** @internal */
  override _create(options: QueueOptions): Gate {
    return new Gate(options);
  }
}
