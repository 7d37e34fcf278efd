/** The mutex. Invariant: a key has at most one holder, and all keys of a request are taken in one step. */

import { describe, detached, invalid, ReentrancyError } from '../sync/errors.js';
import { Acquisition, type Queue, type SharedGuard } from './acquisition.js';
import { SharedCondition } from './condition.js';
import { LocalQueue } from './local/local-queue.js';
import type { SharedMutexMetrics } from './metrics.js';
import {
  checkLockOptions,
  type LockKeysOptions,
  readConditionName,
  readKeys,
  readMutexOptions,
  type SharedMutexOptions,
  type TryLockKeysOptions,
} from './options.js';
import { SharedPrimitive } from './primitive.js';
import { describeQuery, type HeldLock, type LocalWaiter } from './query.js';
import type { Store } from './store.js';

/**
 * Mutual exclusion over one or many keys, all or nothing, between tasks, processes and hosts.
 *
 * - **All or nothing.** A request takes all of its keys in one step or waits for all of them, so locks over overlapping
 *   sets of keys never deadlock.
 * - **FIFO.** Requests that share a key are served in the order in which the server received them, without polling. The
 *   tasks of one process are served in the order of their calls. In the mode `local` a process may hand a lock over
 *   among its own tasks first, for at most 5 ms.
 * - **Cancellation.** An abort or a timeout removes the request from the queue.
 * - **Dead processes** lose their locks when their `ttl` has elapsed, and their places in the queue when these are next.
 * - **No late grant.** A lock whose lease has ended is not granted, however long the reply took.
 *
 * A lock cannot stop a task that is suspended for longer than `ttl` between its last check of the guard and its next
 * effect. Only the fencing {@link SharedGuard.token | token} can, if the protected resource checks it.
 *
 * The mutex connects its store on first use. The connections keep the process alive until {@link shutdown} or
 * {@link close}.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { redis } from 'pointsman/redis';
 * import { SharedMutex } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const mutex = new SharedMutex(redis(client));
 * {
 *   await using guard = await mutex.lock(['account:1', 'account:2'], { timeout: 1_000 });
 *   console.log(guard.keys); // [ 'account:1', 'account:2' ]
 * }
 * console.log(await mutex.run('account:1', async () => 'done')); // done
 * await mutex.close();
 * client.disconnect();
 * ```
 */
export class SharedMutex extends SharedPrimitive {
  readonly #mode: 'local' | 'strict';
  #local: LocalQueue | undefined;

  /**
   * @param store Such as `redis` of `pointsman/redis` returns. All mutexes of a namespace share its locks.
   * @throws {TypeError} if the store or an option is invalid.
   */
  constructor(store: Store, options: SharedMutexOptions = {}) {
    const { mode, name } = readMutexOptions(options);
    super(store, 'mutex', name);
    this.#mode = mode;
  }

  /**
   * Locks all of `keys`; waits until all of them are free and it is this request's turn. Up to 1,000 keys, each a
   * non-empty, well-formed string.
   *
   * Never throws. The promise rejects with
   * - the signal's reason or a `TimeoutError` if the wait is given up,
   * - the reason of {@link close}, by default a `ClosedError`,
   * - a {@link StoreError} if the server refuses or cannot be reached for as long as `ttl`,
   * - a `ReentrancyError` if `owner` holds one of the keys,
   * - a `TypeError` or `RangeError` if an argument is invalid.
   *
   * After a rejection nothing is held or queued.
   * The lock is not reentrant: a task that requests a key that it holds waits forever, unless it passes an `owner`. With
   * `reentrant` as well, the owner gets another guard of its lock.
   */
  lock(keys: string | readonly string[], options?: LockKeysOptions): Promise<SharedGuard> {
    if (!(this instanceof SharedMutex)) return Promise.reject(detached('lock'));
    return this.#enter(keys, options, true) as Promise<SharedGuard>;
  }

  /** Locks all of `keys` if they are free; otherwise resolves to `undefined`. Rejects like {@link lock}. */
  tryLock(
    keys: string | readonly string[],
    options?: TryLockKeysOptions,
  ): Promise<SharedGuard | undefined> {
    if (!(this instanceof SharedMutex)) return Promise.reject(detached('tryLock'));
    return this.#enter(keys, options, false);
  }

  /**
   * Runs `fn` under the lock and releases the lock when the result of `fn` has settled. Settles like `fn`, even if the
   * lock was lost meanwhile: `fn` gets the guard, and can pass its signal on or check it last.
   */
  async run<T>(
    keys: string | readonly string[],
    fn: (guard: SharedGuard) => T | PromiseLike<T>,
    options?: LockKeysOptions,
  ): Promise<T> {
    if (!(this instanceof SharedMutex)) throw detached('run');
    if (typeof fn !== 'function') throw invalid('fn', fn, 'a function');
    return this._runWith(this.lock(keys, options), fn);
  }

  /**
   * Returns a function that runs `fn` under the lock. `keys` may be computed from the arguments.
   *
   * @example
   * ```ts
   * import { createClient } from 'redis';
   * import { redis } from 'pointsman/redis';
   * import { SharedMutex } from 'pointsman/shared';
   *
   * const client = await createClient({ url: process.env.REDIS_URL ?? 'redis://localhost' }).connect();
   * const mutex = new SharedMutex(redis(client));
   * const greet = mutex.wrap((name: string) => `user:${name}`, async (name) => `hello ${name}`);
   * console.log(await greet('ann')); // hello ann
   * await mutex.close();
   * client.destroy();
   * ```
   */
  wrap<Arguments extends unknown[], T>(
    keys: string | readonly string[] | ((...args: Arguments) => string | readonly string[]),
    fn: (...args: Arguments) => T | PromiseLike<T>,
    options?: LockKeysOptions,
  ): (...args: Arguments) => Promise<T> {
    if (!(this instanceof SharedMutex)) throw detached('wrap');
    if (typeof fn !== 'function') throw invalid('fn', fn, 'a function');
    if (typeof keys !== 'function') readKeys(keys);
    if (options !== undefined) checkLockOptions(options);
    return async (...args) =>
      this.run(typeof keys === 'function' ? keys(...args) : keys, () => fn(...args), options);
  }

  /** Returns the condition variable with this name in this namespace. */
  condition(name: string): SharedCondition {
    if (!(this instanceof SharedMutex)) throw detached('condition');
    return new SharedCondition(readConditionName(name), () => this._open(), this._metrics);
  }

  /**
   * Takes the locks on any of `keys` from their holders, in any process. The next requests get the keys, with higher
   * tokens. Resolves to the locks that were taken, as {@link query} shows them. A holder loses all keys of its request;
   * in the mode `local` that includes the optional keys of its process.
   *
   * The holder's signal aborts with a `LockLostError` at the latest at the next heartbeat of its process. Until
   * then two holders consider the lock theirs; only the {@link SharedGuard.token | token} distinguishes them.
   */
  async forceUnlock(keys: string | readonly string[]): Promise<HeldLock[]> {
    if (!(this instanceof SharedMutex)) throw detached('forceUnlock');
    const wanted = new Set(readKeys(keys));
    const { session } = this._open();
    const { held } = describeQuery(await session.query(), []);
    const found = held.filter((lock) => lock.keys.some((key) => wanted.has(key)));
    const taken = await Promise.all(
      found.map(({ id, token, keys }) => session.number({ name: 'take', id, token, keys })),
    );
    return found.filter((_, i) => taken[i]);
  }

  /** Counters since the mutex was created. */
  get metrics(): SharedMutexMetrics {
    return this._metrics.snapshot();
  }

  #enter(
    keys: unknown,
    options: LockKeysOptions | undefined,
    wait: boolean,
  ): Promise<SharedGuard | undefined> {
    return new Promise((resolve) => {
      const wanted = readKeys(keys);
      if (options === undefined) {
        this._refuseIfClosed();
        const queue = this.#queue(this.#mode);
        queue.enter(new Acquisition(queue, this._metrics, wanted, wait ? {} : { wait }, resolve));
        return;
      }
      checkLockOptions(options, wait);
      const { signal, timeout, owner, maxHold } = options;
      if (signal?.aborted) throw signal.reason;
      this._refuseIfClosed();
      const held = owner === undefined ? undefined : this.#heldBy(owner, wanted, options);
      if (held !== undefined) return resolve(held.addGuard(wanted));
      const queue = this.#queue(this.#mode);
      this._enter(queue, wanted, { signal, timeout }, { owner, wait, maxHold }, resolve);
    });
  }

  /** Returns the lock by which the owner holds all of the keys, if `reentrant`. Throws if the owner holds one of them. */
  #heldBy(
    owner: unknown,
    keys: readonly string[],
    { reentrant = false }: LockKeysOptions,
  ): Acquisition | undefined {
    for (const key of keys) {
      for (const acquisition of this._queues.flatMap((queue) => [...queue.acquisitionsOf(key)])) {
        if (acquisition.state !== 'held' || !Object.is(acquisition.owner, owner)) continue;
        if (reentrant && keys.every((each) => acquisition.keys.includes(each))) return acquisition;
        const by = `owner ${describe(owner)} of ${this._process} holds ${describe(key)} already`;
        const since = `with token ${acquisition.guards[0]?.token}, since ${Math.round(acquisition.age)} ms`;
        const other = reentrant ? ', but not all of the keys by that lock' : '';
        throw new ReentrancyError(`${this._label}${by}, ${since}${other}`, owner);
      }
    }
    return undefined;
  }

  #queue(mode: 'local' | 'strict'): Queue {
    const strict = this._open();
    if (mode === 'strict') return strict;
    this.#local ??= new LocalQueue(strict.session, this._metrics);
    return this.#local;
  }

  /** @internal */
  override get _localWaiters(): readonly LocalWaiter[] {
    return this.#local?.waiters ?? [];
  }

  /** @internal */
  override get _queues(): readonly Queue[] {
    return this.#local === undefined ? super._queues : [this.#local, ...super._queues];
  }
}
