/**
 * The semaphore. Invariant: the weights of the guards of a key are never more than its limit, and the permits of a
 * process that has died are free when its lease has ended.
 */

import { checkFunction, checkInteger, detached } from '../sync/errors.js';
import { checkOptions, checkWaitOptions } from '../sync/options.js';
import type { Queue, SharedGuard } from './acquisition.js';
import { PermitQueue } from './local/permit-queue.js';
import {
  type AcquireKeysOptions,
  checkMaxHold,
  readKeys,
  readMutexOptions,
  type SharedSemaphoreOptions,
  type TryAcquireKeysOptions,
} from './options.js';
import { SharedPrimitive } from './primitive.js';
import type { Share } from './protocol/protocol.js';
import type { Store } from './store.js';

/** The highest limit. */
const MAX_LIMIT = 2 ** 31 - 1;
const tryNames: readonly string[] = ['weight', 'maxHold'];
const names: readonly string[] = [...tryNames, 'signal', 'timeout'];

/**
 * A semaphore for each of many keys, between tasks, processes and hosts.
 *
 * - **No permit is lost.** A permit is held by a session that renews it. The permits of a dead process are free when its
 *   lease has ended, and a second release does nothing, so the limit neither shrinks nor grows.
 * - **All or nothing.** A request over several keys takes its permits of all of them in one step.
 * - **FIFO.** Requests are served in the order in which the store received them, so a small request never overtakes an
 *   earlier large one. In the mode `local` a process may hand a permit over among its own tasks first, for at most 5 ms.
 * - **One space of keys.** The holder of a key of a {@link SharedMutex} excludes all permits of that key.
 *
 * The store reads all holders of a key with each request for it, so use it for up to a few hundred holders of one key.
 * Loss, cancellation and dead processes are as for a {@link SharedMutex}. A token is higher than that of every earlier
 * holder that its permits exclude.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { redis } from 'pointsman/redis';
 * import { SharedSemaphore } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const semaphore = new SharedSemaphore(redis(client), 3);
 * {
 *   await using guard = await semaphore.acquire('printer', { weight: 2, timeout: 1_000 });
 *   console.log(await semaphore.tryAcquire('printer', { weight: 2 })); // undefined
 * }
 * console.log(await semaphore.run('printer', async () => 'printed')); // printed
 * await semaphore.close();
 * client.disconnect();
 * ```
 */
export class SharedSemaphore extends SharedPrimitive {
  /** The number of permits of each key, unless {@link setLimit} has changed it. */
  readonly limit: number;
  readonly #mode: 'local' | 'strict';
  #permits: PermitQueue | undefined;
  /** The highest limit of a key that this process knows. */
  #highest: number;

  /**
   * @param store Such as `redis` of `pointsman/redis` returns.
   * @param limit The number of permits of each key: an integer from 1 on. Use the same limit in all processes.
   * @throws {TypeError | RangeError} if an argument is invalid.
   */
  constructor(store: Store, limit: number, options: SharedSemaphoreOptions = {}) {
    const { mode, name } = readMutexOptions(options);
    checkInteger('limit', limit, 1, MAX_LIMIT);
    super(store, 'semaphore', name);
    this.limit = limit;
    this.#mode = mode;
    this.#highest = limit;
  }

  /** Acquires permits of all `keys`; waits until they are free and it is this request's turn. Rejects like {@link SharedMutex.lock}. */
  async acquire(
    keys: string | readonly string[],
    options: AcquireKeysOptions = {},
  ): Promise<SharedGuard> {
    if (!(this instanceof SharedSemaphore)) throw detached('acquire');
    const wanted = readKeys(keys);
    checkWaitOptions(options, names);
    return this._request(wanted, options, this.#share(options), true) as Promise<SharedGuard>;
  }

  /** Acquires permits of all `keys` if that needs no wait; otherwise resolves to `undefined`. */
  async tryAcquire(
    keys: string | readonly string[],
    options: TryAcquireKeysOptions = {},
  ): Promise<SharedGuard | undefined> {
    if (!(this instanceof SharedSemaphore)) throw detached('tryAcquire');
    const wanted = readKeys(keys);
    checkOptions(options, tryNames);
    return this._request(wanted, options, this.#share(options), false);
  }

  /** Runs `fn` with permits of all `keys`. Settles like `fn`, after the release. */
  async run<T>(
    keys: string | readonly string[],
    fn: (guard: SharedGuard) => T | PromiseLike<T>,
    options?: AcquireKeysOptions,
  ): Promise<T> {
    if (!(this instanceof SharedSemaphore)) throw detached('run');
    checkFunction('fn', fn);
    return this._runWith(this.acquire(keys, options), fn);
  }

  /**
   * Changes the limit of one key, for the requests of all processes. Revokes no permit: while holders have more than the
   * limit, the store grants none. Another process in the mode `local` may still hand a permit on for 5 ms. Resolves when
   * the store has replied. The change is kept while any process uses the namespace; processes
   * that start later, with an empty namespace, begin with the limit of the constructor.
   *
   * A waiting request whose weight exceeds the new limit waits until the limit is raised or it is given up. A weight above
   * the limit of the constructor is refused until this object has set a limit of at least that weight for some key.
   *
   * @throws {RangeError | TypeError} if an argument is invalid.
   */
  async setLimit(key: string, limit: number): Promise<void> {
    if (!(this instanceof SharedSemaphore)) throw detached('setLimit');
    const [wanted] = readKeys([key]) as [string];
    checkInteger('limit', limit, 1, MAX_LIMIT);
    this._refuseIfClosed();
    await this._open().session.number({ name: 'limit', key: wanted, limit });
    this.#permits?.stopHandingOn(wanted);
    this.#highest = Math.max(this.#highest, limit);
  }

  #share({ weight = 1, maxHold }: TryAcquireKeysOptions): Share {
    checkInteger('weight', weight, 1, this.#highest);
    checkMaxHold(maxHold);
    return { weight, limit: this.limit };
  }
  /** @internal */
  protected override _queue(): Queue {
    if (this.#mode === 'strict') return super._queue();
    this.#permits ??= new PermitQueue(this._open().session);
    return this.#permits;
  }

  /** @internal */
  override get _queues(): readonly Queue[] {
    return this.#permits === undefined ? super._queues : [this.#permits];
  }
}
