/** A lock for each key that many readers or one writer hold. */

import { detached } from '../errors.js';
import type { WaitOptions } from '../options.js';
import { RwLock, type WriteOptions, type WritePermit } from '../rwlock/rwlock.js';
import type { Permit } from '../semaphore/permit.js';
import type { QueueOptions } from '../wait/queue.js';
import { Keyed, requestOf } from './keyed.js';

/**
 * Lets many readers of the same key in together, or one writer alone. Keys are independent of each other and
 * compared as a `Map` compares them. A key costs nothing unless somebody holds it or waits for it.
 *
 * Each key has the guarantees of {@link RwLock}. A key can be of any type; without a type
 * argument it is a string, a number or a symbol, so that the compiler rejects options in place of a key.
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
  /** How many readers are inside this key. */
  readersOf(key: Key): number {
    if (!(this instanceof KeyedRwLock)) throw detached('readersOf');
    return this._find(key)?.readers ?? 0;
  }

  /** Whether a writer is inside this key. */
  isWriting(key: Key): boolean {
    if (!(this instanceof KeyedRwLock)) throw detached('isWriting');
    return this._find(key)?.writing === true;
  }

  /** Comes in as a reader of this key. As {@link RwLock.read}. */
  read(key: Key, options?: WaitOptions): Promise<Permit> {
    return requestOf(this, 'read', key, (entry) => entry.read(options));
  }

  /** Comes in as a writer of this key. As {@link RwLock.write}. */
  write(key: Key, options?: WriteOptions): Promise<WritePermit> {
    return requestOf(this, 'write', key, (entry) => entry.write(options));
  }

  /** Comes in as a reader of this key if that needs no waiting. As {@link RwLock.tryRead}. */
  tryRead(key: Key): Permit | undefined {
    if (!(this instanceof KeyedRwLock)) throw detached('tryRead');
    return this._request(key, (entry) => entry.tryRead());
  }

  /** Comes in as a writer of this key if nobody is inside. As {@link RwLock.tryWrite}. */
  tryWrite(key: Key): WritePermit | undefined {
    if (!(this instanceof KeyedRwLock)) throw detached('tryWrite');
    return this._request(key, (entry) => entry.tryWrite());
  }

  /** Runs `fn` as a reader of this key. As {@link RwLock.runRead}. */
  runRead<T>(
    key: Key,
    fn: (permit: Permit) => T | PromiseLike<T>,
    options?: WaitOptions,
  ): Promise<T> {
    return requestOf(this, 'runRead', key, (entry) => entry.runRead(fn, options));
  }

  /** Runs `fn` as a writer of this key. As {@link RwLock.runWrite}. */
  runWrite<T>(
    key: Key,
    fn: (permit: WritePermit) => T | PromiseLike<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return requestOf(this, 'runWrite', key, (entry) => entry.runWrite(fn, options));
  }

  /** @internal */
  override _create(options: QueueOptions): RwLock {
    return new RwLock(options);
  }
}
