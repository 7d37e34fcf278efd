/** A readers-writer lock for each key. */

import { detached } from '../errors.js';
import type { WaitOptions } from '../options.js';
import { RwLock, type WriteOptions, type WritePermit } from '../rwlock/rwlock.js';
import type { Permit } from '../semaphore/permit.js';
import type { QueueOptions } from '../wait/queue.js';
import { Keyed, requestOf } from './keyed.js';

/**
 * An {@link RwLock} for each key. Keys are independent, compared as in a `Map`, and take no memory unless held or waited
 * for. They can be of any type; the default is `PropertyKey`, so that the compiler rejects options in place of a key.
 *
 * @example
 * ```ts
 * import { KeyedRwLock } from 'pointsman';
 *
 * const files = new KeyedRwLock<string>();
 * {
 *   using one = await files.read('a.txt');
 *   using two = await files.read('a.txt');
 *   using other = await files.write('b.txt');
 *   console.log(files.readersOf('a.txt'), files.isWriting('b.txt'), files.keyCount); // 2 true 2
 * }
 * console.log(files.keyCount); // 0
 * ```
 */
export class KeyedRwLock<Key = PropertyKey> extends Keyed<Key, RwLock> {
  constructor(options?: QueueOptions) {
    super(options, (given) => new RwLock(given));
  }

  /** The number of read locks of this key that are held. */
  readersOf(key: Key): number {
    if (!(this instanceof KeyedRwLock)) throw detached('readersOf');
    return this._find(key)?.readers ?? 0;
  }

  /** Whether the write lock of this key is held. */
  isWriting(key: Key): boolean {
    if (!(this instanceof KeyedRwLock)) throw detached('isWriting');
    return this._find(key)?.writing === true;
  }

  /** Acquires a read lock of this key. As {@link RwLock.read}. */
  read(key: Key, options?: WaitOptions): Promise<Permit> {
    return requestOf(this, 'read', key, (lock) => lock.read(options));
  }

  /** Acquires the write lock of this key. As {@link RwLock.write}. */
  write(key: Key, options?: WriteOptions): Promise<WritePermit> {
    return requestOf(this, 'write', key, (lock) => lock.write(options));
  }

  /** Acquires a read lock of this key without waiting. As {@link RwLock.tryRead}. */
  tryRead(key: Key): Permit | undefined {
    if (!(this instanceof KeyedRwLock)) throw detached('tryRead');
    return this._request(key, (lock) => lock.tryRead());
  }

  /** Acquires the write lock of this key without waiting. As {@link RwLock.tryWrite}. */
  tryWrite(key: Key): WritePermit | undefined {
    if (!(this instanceof KeyedRwLock)) throw detached('tryWrite');
    return this._request(key, (lock) => lock.tryWrite());
  }

  /** Runs `fn` with a read lock of this key. As {@link RwLock.runRead}. */
  runRead<T>(
    key: Key,
    fn: (permit: Permit) => T | PromiseLike<T>,
    options?: WaitOptions,
  ): Promise<T> {
    return requestOf(this, 'runRead', key, (lock) => lock.runRead(fn, options));
  }

  /** Runs `fn` with the write lock of this key. As {@link RwLock.runWrite}. */
  runWrite<T>(
    key: Key,
    fn: (permit: WritePermit) => T | PromiseLike<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return requestOf(this, 'runWrite', key, (lock) => lock.runWrite(fn, options));
  }
}
