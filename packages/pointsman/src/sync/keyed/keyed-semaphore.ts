/** A semaphore for each key: at most `limit` permits of the same key are out at once. */

import { checkCount, checkNotOptions, detached } from '../errors.js';
import type { Permit } from '../semaphore/permit.js';
import { type AcquireOptions, Semaphore, type TryAcquireOptions } from '../semaphore/semaphore.js';
import type { QueueOptions } from '../wait/queue.js';
import { Keyed, requestOf } from './keyed.js';

/**
 * Lets at most `limit` permits of each key be out at once. Keys are independent of each other and
 * compared as a `Map` compares them. A key costs nothing unless somebody holds it or waits for it.
 *
 * Each key has the guarantees of {@link Semaphore}. A key can be of any type; without a type
 * argument it is a string, a number or a symbol, so that the compiler rejects options in place of a key.
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
  /** How many permits there are for each key. */
  readonly limit: number;

  /**
   * @param limit How many permits there are for each key: an integer from 1 on, or `Infinity`.
   * @param options `maxWaiting` is the bound for each key; to the `name` the messages of errors add the key.
   * @throws {RangeError | TypeError} for any other limit, and for options that cannot be used.
   */
  constructor(limit: number, options?: QueueOptions) {
    if (typeof limit === 'object') checkNotOptions('KeyedSemaphore', 'limit', limit);
    checkCount('limit', limit, 1);
    super(options);
    this.limit = limit;
  }

  /** How many permits of this key are free. */
  availableFor(key: Key): number {
    if (!(this instanceof KeyedSemaphore)) throw detached('availableFor');
    return this._find(key)?.available ?? this.limit;
  }

  /** Takes permits of this key, waiting until it is this request's turn. As {@link Semaphore.acquire}. */
  acquire(key: Key, options?: AcquireOptions): Promise<Permit> {
    return requestOf(this, 'acquire', key, (entry) => entry.acquire(options));
  }

  /** Takes permits of this key if that needs no waiting. As {@link Semaphore.tryAcquire}. */
  tryAcquire(key: Key, options?: TryAcquireOptions): Permit | undefined {
    if (!(this instanceof KeyedSemaphore)) throw detached('tryAcquire');
    return this._request(key, (entry) => entry.tryAcquire(options));
  }

  /** Runs `fn` with a permit of this key. As {@link Semaphore.run}. */
  run<T>(
    key: Key,
    fn: (permit: Permit) => T | PromiseLike<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    return requestOf(this, 'run', key, (entry) => entry.run(fn, options));
  }

  /** @internal */
  override _create(options: QueueOptions): Semaphore {
    return new Semaphore(this.limit, options);
  }
}
