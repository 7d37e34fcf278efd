/**
 * The read-write lock. Invariant: readers share a key, and a writer holds it alone; both wait in the one queue of the
 * store, so neither can starve the other.
 */

import { checkFunction, detached, invalid } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { SharedGuard } from './acquisition.js';
import { readKeys, readSharedOptions, type SharedOptions } from './options.js';
import { SharedPrimitive } from './primitive.js';
import type { Store } from './store.js';

const READER = { weight: 1, limit: 0 } as const;

/**
 * A read-write lock over one or many keys, between tasks, processes and hosts: many readers, or one writer.
 *
 * - **All or nothing.** A request takes all of its keys in one step or waits for all of them.
 * - **Fair.** Requests are served in the order in which the store received them. A reader waits behind an earlier
 *   writer; when a writer releases, all readers in front of the next writer enter together.
 * - **One space of keys.** The writer of a key also excludes the holder of that key of a {@link SharedMutex}, and the
 *   permits of a {@link SharedSemaphore}.
 *
 * Tokens, loss, cancellation and dead processes are as for a {@link SharedMutex}. A reader has a token too, higher than
 * that of every earlier writer.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { redis } from 'pointsman/redis';
 * import { SharedRwLock } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const lock = new SharedRwLock(redis(client));
 * {
 *   await using first = await lock.read('config');
 *   await using second = await lock.read('config', { timeout: 1_000 });
 *   console.log(first.valid, second.valid, await lock.tryWrite('config')); // true true undefined
 * }
 * console.log(await lock.runWrite('config', async () => 'written')); // written
 * await lock.close();
 * client.disconnect();
 * ```
 */
export class SharedRwLock extends SharedPrimitive {
  /**
   * @param store Such as `redis` of `pointsman/redis` returns.
   * @throws {TypeError} if the store or an option is invalid.
   */
  constructor(store: Store, options: SharedOptions = {}) {
    super(store, 'read-write lock', readSharedOptions(options));
  }

  /**
   * Acquires `keys` as a reader; waits while a writer holds one of them or waits in front. Rejects like
   * {@link SharedMutex.lock}.
   */
  async read(keys: string | readonly string[], options: WaitOptions = {}): Promise<SharedGuard> {
    if (!(this instanceof SharedRwLock)) throw detached('read');
    const wanted = readKeys(keys);
    checkWaitOptions(options);
    return this._request(wanted, options, READER, true) as Promise<SharedGuard>;
  }

  /** Acquires `keys` as the writer; waits while another request holds one of them or waits in front. */
  async write(keys: string | readonly string[], options: WaitOptions = {}): Promise<SharedGuard> {
    if (!(this instanceof SharedRwLock)) throw detached('write');
    const wanted = readKeys(keys);
    checkWaitOptions(options);
    return this._request(wanted, options, undefined, true) as Promise<SharedGuard>;
  }

  /** Acquires `keys` as a reader if that needs no wait; otherwise resolves to `undefined`. */
  async tryRead(keys: string | readonly string[]): Promise<SharedGuard | undefined> {
    if (!(this instanceof SharedRwLock)) throw detached('tryRead');
    return this._request(readKeys(keys), {}, READER, false);
  }

  /** Acquires `keys` as the writer if that needs no wait; otherwise resolves to `undefined`. */
  async tryWrite(keys: string | readonly string[]): Promise<SharedGuard | undefined> {
    if (!(this instanceof SharedRwLock)) throw detached('tryWrite');
    return this._request(readKeys(keys), {}, undefined, false);
  }

  /** Runs `fn` as a reader. Settles like `fn`, after the release. */
  async runRead<T>(
    keys: string | readonly string[],
    fn: (guard: SharedGuard) => T | PromiseLike<T>,
    options?: WaitOptions,
  ): Promise<T> {
    if (!(this instanceof SharedRwLock)) throw detached('runRead');
    checkFunction('fn', fn);
    return this._runWith(this.read(keys, options), fn);
  }

  /** Runs `fn` as the writer. Settles like `fn`, after the release. */
  async runWrite<T>(
    keys: string | readonly string[],
    fn: (guard: SharedGuard) => T | PromiseLike<T>,
    options?: WaitOptions,
  ): Promise<T> {
    if (!(this instanceof SharedRwLock)) throw detached('runWrite');
    checkFunction('fn', fn);
    return this._runWith(this.write(keys, options), fn);
  }

  /**
   * Turns a writer into a reader in one step, so that no other writer comes between. The readers in front of the next
   * writer enter. The guard keeps its keys and its token; a reader stays as it is. Resolves when the store has replied.
   *
   * @throws {LockLostError} if the lock is lost, or has been released.
   * @throws {TypeError} if the guard is not one of this lock.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedRwLock } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const lock = new SharedRwLock(redis(client));
   * const guard = await lock.write('report');
   * await lock.downgrade(guard);
   * console.log((await lock.tryRead('report'))?.valid); // true
   * await lock.close();
   * client.disconnect();
   * ```
   */
  async downgrade(guard: SharedGuard): Promise<void> {
    if (!(this instanceof SharedRwLock)) throw detached('downgrade');
    const acquisition = guard instanceof SharedGuard ? guard._acquisition : undefined;
    const queue = this._queues.find((queue) => queue === acquisition?.queue);
    if (acquisition === undefined || queue === undefined) {
      throw invalid('guard', guard, 'a guard of this read-write lock');
    }
    guard.assertValid();
    if (acquisition.share === READER) return;
    await this._open().downgrade(acquisition);
    acquisition.share = READER;
    guard.assertValid();
  }
}
