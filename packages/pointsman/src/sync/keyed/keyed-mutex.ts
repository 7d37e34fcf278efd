/** A mutual exclusion lock for each key. */

import { detached } from '../errors.js';
import {
  acquire,
  assertHeld,
  type LockOptions,
  run,
  type TryLockOptions,
  tryAcquire,
} from '../mutex/lock.js';
import type { Permit } from '../semaphore/permit.js';
import { Semaphore } from '../semaphore/semaphore.js';
import type { QueueOptions } from '../wait/queue.js';
import { Keyed, requestOf } from './keyed.js';
import { type Locks, lockAll, runAll, tryLockAll } from './lock-all.js';

/**
 * A {@link Mutex} for each key. Keys are independent, compared as in a `Map`, and take no memory unless held or waited
 * for. They can be of any type; the default is `PropertyKey`, so that the compiler rejects options in place of a key.
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
export class KeyedMutex<Key = PropertyKey> extends Keyed<Key, Semaphore> {
  constructor(options?: QueueOptions) {
    super(options, (given) => new Semaphore(1, given));
  }

  /** Whether the lock of this key is held. */
  isLocked(key: Key): boolean {
    if (!(this instanceof KeyedMutex)) throw detached('isLocked');
    return this._find(key)?.available === 0;
  }

  /** The `owner` of the holder of this key, if it passed one. */
  ownerOf(key: Key): unknown {
    if (!(this instanceof KeyedMutex)) throw detached('ownerOf');
    return this._find(key)?._owner;
  }

  /** Acquires the lock of this key; waits until it is this request's turn. As {@link Mutex.lock}. */
  lock(key: Key, options?: LockOptions): Promise<Permit> {
    return requestOf(this, 'lock', key, acquire, options);
  }

  /** Acquires the lock of this key without waiting. As {@link Mutex.tryLock}. */
  tryLock(key: Key, options?: TryLockOptions): Permit | undefined {
    if (!(this instanceof KeyedMutex)) throw detached('tryLock');
    return this._request(key, tryAcquire, options);
  }

  /** Runs `fn` with the lock of this key. As {@link Mutex.run}. */
  run<T>(key: Key, fn: (lock: Permit) => T | PromiseLike<T>, options?: LockOptions): Promise<T> {
    return requestOf(this, 'run', key, run<T>, fn, options);
  }

  /**
   * Acquires the locks of several keys in one step; waits until it is this request's turn for each of them. It holds none
   * while it waits, but no later request for one of the keys overtakes it, except by a higher `priority`. So overlapping
   * requests never deadlock, in any order of the keys. A key that is given twice counts once. Without keys it is granted
   * at once, also when closed.
   *
   * It grants one permit for all keys; {@link assertHeldBy} accepts it for each. Rejects as {@link lock} does, also if the
   * same `owner` holds one of the keys or the queue of one is full. `waiting` and `waitingFor` count it for each key.
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
   * Acquires the locks of several keys without waiting; returns `undefined` if one of them is held or waited for. Throws
   * as {@link tryLock} does.
   */
  tryLockAll(keys: Iterable<Key>, options?: TryLockOptions): Locks<Key> | undefined {
    if (!(this instanceof KeyedMutex)) throw detached('tryLockAll');
    return tryLockAll(this, keys, options);
  }

  /** Runs `fn` with the locks of several keys. As {@link run} and {@link lockAll}. */
  runAll<T>(
    keys: Iterable<Key>,
    fn: (locks: Locks<Key>) => T | PromiseLike<T>,
    options?: LockOptions,
  ): Promise<T> {
    return runAll(this, keys, fn, options);
  }

  /** Throws unless `lock` is held and was granted for this key. As {@link Mutex.assertHeldBy}. */
  assertHeldBy(key: Key, lock: Permit): void {
    if (!(this instanceof KeyedMutex)) throw detached('assertHeldBy');
    assertHeld(this._find(key), (lock as Partial<Locks<Key>>)?._locks?.get(key) ?? lock);
  }
}
