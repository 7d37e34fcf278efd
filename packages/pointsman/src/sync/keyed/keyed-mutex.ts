/** A mutual exclusion lock for each key: one holder of the same key at a time. */

import { detached } from '../errors.js';
import { assertHeld } from '../mutex/gate.js';
import type { LockOptions, TryLockOptions } from '../mutex/mutex.js';
import type { Permit } from '../semaphore/permit.js';
import type { TryAcquireOptions } from '../semaphore/semaphore.js';
import type { QueueOptions } from '../wait/queue.js';
import { Keyed, requestOf } from './keyed.js';
import { type Locks, lockAll, runAll, SharedGate, tryLockAll } from './lock-all.js';

/**
 * Lets one in at a time for each key. Keys are independent of each other and compared as a `Map` compares
 * them. A key costs nothing unless somebody holds it or waits for it.
 *
 * Each key has the guarantees of {@link Mutex}. A key can be of any type; without a type
 * argument it is a string, a number or a symbol, so that the compiler rejects options in place of a key.
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
 * console.log(accounts.keyCount); // 0
 * ```
 */
export class KeyedMutex<Key = PropertyKey> extends Keyed<Key, SharedGate> {
  /** Whether somebody holds the lock of this key. */
  isLocked(key: Key): boolean {
    if (!(this instanceof KeyedMutex)) throw detached('isLocked');
    return this._find(key)?.available === 0;
  }

  /** The `owner` that the holder of this key gave, if any. */
  ownerOf(key: Key): unknown {
    if (!(this instanceof KeyedMutex)) throw detached('ownerOf');
    return this._find(key)?.owner;
  }

  /** Takes the lock of this key, waiting until it is this request's turn. As {@link Mutex.lock}. */
  lock(key: Key, options?: LockOptions): Promise<Permit> {
    return requestOf(this, 'lock', key, (entry) => entry.acquire(options));
  }

  /** Takes the lock of this key if that needs no waiting. As {@link Mutex.tryLock}. */
  tryLock(key: Key, options?: TryLockOptions): Permit | undefined {
    if (!(this instanceof KeyedMutex)) throw detached('tryLock');
    return this._request(key, (entry) => entry.tryAcquire(options as TryAcquireOptions));
  }

  /** Runs `fn` under the lock of this key. As {@link Mutex.run}. */
  run<T>(key: Key, fn: (lock: Permit) => T | PromiseLike<T>, options?: LockOptions): Promise<T> {
    return requestOf(this, 'run', key, (entry) => entry.run(fn, options));
  }

  /**
   * Takes the locks of all these keys in one step, waiting until it is this request's turn for each of them. Until then
   * it holds nothing, but stands in the line of each key: nobody who comes later and wants one of them overtakes it,
   * unless with a higher `priority`. So however the keys of requests overlap, in whatever order they are given, they
   * never block each other for good. A key that is given twice counts once; no keys at all are granted at once, also
   * when it is closed.
   *
   * What it grants is one lock for all; {@link assertHeldBy} takes it for each of its keys. It rejects as
   * {@link lock} does, also with a {@link ReentrancyError} when the same `owner` holds one of the keys, and with a
   * `QueueFullError` when too many wait for one of them. `waiting` and `waitingFor` count it for each key.
   *
   * @example
   * ```ts
   * import { KeyedMutex } from 'pointsman';
   *
   * const accounts = new KeyedMutex<string>();
   * {
   *   using locks = await accounts.lockAll(['ann', 'bob']);
   *   console.log(locks.keys, accounts.isLocked('bob')); // [ 'ann', 'bob' ] true
   * }
   * console.log(accounts.keyCount); // 0
   * ```
   */
  lockAll(keys: Iterable<Key>, options?: LockOptions): Promise<Locks<Key>> {
    return lockAll(this, 'lockAll', keys, options);
  }

  /**
   * Takes the locks of all these keys if that needs no waiting: nobody holds or waits for any of them. Otherwise it is
   * `undefined` and nothing has changed. It throws as {@link tryLock} does.
   */
  tryLockAll(keys: Iterable<Key>, options?: TryLockOptions): Locks<Key> | undefined {
    if (!(this instanceof KeyedMutex)) throw detached('tryLockAll');
    return tryLockAll(this, keys, options);
  }

  /**
   * Runs `fn` under the locks of all these keys, and unlocks them when the result of `fn` has settled. As {@link run}
   * and {@link lockAll}.
   */
  runAll<T>(
    keys: Iterable<Key>,
    fn: (locks: Locks<Key>) => T | PromiseLike<T>,
    options?: LockOptions,
  ): Promise<T> {
    return runAll(this, keys, fn, options);
  }

  /** Throws unless `lock` is held, and is a lock of this very key. As {@link Mutex.assertHeldBy}. */
  assertHeldBy(key: Key, lock: Permit): void {
    if (!(this instanceof KeyedMutex)) throw detached('assertHeldBy');
    assertHeld(this._find(key), (lock as Partial<Locks<Key>>)?._locks?.get(key) ?? lock);
  }

  /** @internal */
  override _create(options: QueueOptions): SharedGate {
    return new SharedGate(options);
  }
}
