/** A semaphore for each key. */

import { checkCount, checkNotOptions, detached } from '../errors.js';
import type { Permit } from '../semaphore/permit.js';
import { type AcquireOptions, Semaphore, type TryAcquireOptions } from '../semaphore/semaphore.js';
import type { QueueOptions } from '../wait/queue.js';
import { Keyed, requestOf } from './keyed.js';

/**
 * A {@link Semaphore} for each key. Keys are independent, compared as in a `Map`, and take no memory unless held or
 * waited for. They can be of any type; the default is `PropertyKey`, so that the compiler rejects options in place of a
 * key.
 *
 * @example
 * ```ts
 * import { KeyedSemaphore } from 'pointsman';
 *
 * const perHost = new KeyedSemaphore<string>(2);
 * {
 *   using a = await perHost.acquire('a.example');
 *   using b = await perHost.acquire('b.example');
 *   console.log(perHost.keyCount, perHost.availableFor('a.example')); // 2 1
 * }
 * console.log(perHost.keyCount); // 0
 * ```
 */
export class KeyedSemaphore<Key = PropertyKey> extends Keyed<Key, Semaphore> {
  /** The number of permits for each key. */
  readonly limit: number;

  /**
   * @param limit The number of permits for each key: an integer >= 1, or `Infinity`.
   * @param options `maxWaiting` bounds the queue of each key; error messages add the key to the `name`.
   */
  constructor(limit: number, options?: QueueOptions) {
    checkNotOptions('KeyedSemaphore', 'limit', limit);
    checkCount('limit', limit, 1);
    super(options, (given) => new Semaphore(limit, given));
    this.limit = limit;
  }

  /** The number of free permits of this key. */
  availableFor(key: Key): number {
    if (!(this instanceof KeyedSemaphore)) throw detached('availableFor');
    return this._find(key)?.available ?? this.limit;
  }

  /** Acquires permits of this key; waits until it is this request's turn. As {@link Semaphore.acquire}. */
  acquire(key: Key, options?: AcquireOptions): Promise<Permit> {
    return requestOf(this, 'acquire', key, (semaphore) => semaphore.acquire(options));
  }

  /** Acquires permits of this key without waiting. As {@link Semaphore.tryAcquire}. */
  tryAcquire(key: Key, options?: TryAcquireOptions): Permit | undefined {
    if (!(this instanceof KeyedSemaphore)) throw detached('tryAcquire');
    return this._request(key, (semaphore) => semaphore.tryAcquire(options));
  }

  /** Runs `fn` with a permit of this key. As {@link Semaphore.run}. */
  run<T>(
    key: Key,
    fn: (permit: Permit) => T | PromiseLike<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    return requestOf(this, 'run', key, (semaphore) => semaphore.run(fn, options));
  }
}
