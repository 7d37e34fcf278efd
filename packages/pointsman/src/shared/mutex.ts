/** The mutex. Invariant: it has one session with the store, created by the first request. */

import { randomUUID } from 'node:crypto';
import { asyncDispose } from '../sync/dispose.js';
import {
  ClosedError,
  describe,
  detached,
  invalid,
  ReentrancyError,
  timedOut,
} from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { Acquisition, type SharedGuard } from './acquisition.js';
import { SharedCondition } from './condition.js';
import { LockLostError, labelOf } from './errors.js';
import { LocalQueue } from './local/local-queue.js';
import { Metrics, type SharedMutexMetrics } from './metrics.js';
import {
  checkLockOptions,
  defaultName,
  type LockKeysOptions,
  readConditionName,
  readKeys,
  readMutexOptions,
  type SharedMutexOptions,
  type TryLockKeysOptions,
} from './options.js';
import { describeQuery, type HeldLock, type WaitingLock } from './query.js';
import { Session } from './session/session.js';
import { type BaseStore, checkStore, type Store } from './store.js';
import { StrictQueue } from './strict.js';

interface Queues {
  readonly session: Session;
  readonly local: LocalQueue;
  readonly strict: StrictQueue;
}

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
export class SharedMutex {
  readonly #store: BaseStore;
  readonly #mode: 'local' | 'strict';
  readonly #process: string;
  /** The prefix of error messages. */
  readonly #label: string;
  readonly #metrics = new Metrics();
  #queues: Queues | undefined;
  /** The error for new requests: the reason of the first call that ended the mutex. */
  #refusal: { readonly reason: unknown } | undefined;
  /** Resolves when all locks are released and the session has ended. */
  #closing: Promise<void> | undefined;
  /** Resolves when the first {@link shutdown} has closed the mutex, even if its caller gave up. */
  #ending: Promise<void> | undefined;

  /**
   * @param store Such as `redis` of `pointsman/redis` returns. All mutexes of a namespace share its locks.
   * @throws {TypeError} if the store or an option is invalid.
   */
  constructor(store: Store, options: SharedMutexOptions = {}) {
    checkStore(store);
    const { mode, name = store.name } = readMutexOptions(options);
    this.#store = store;
    this.#mode = mode;
    this.#process = `${name ?? defaultName()}-${randomUUID().slice(0, 8)}`;
    this.#label = labelOf(name);
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
    const guard = await this.lock(keys, options);
    try {
      return await fn(guard);
    } finally {
      await guard.release();
    }
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
    return new SharedCondition(readConditionName(name), () => this.#open().strict, this.#metrics);
  }

  /**
   * Returns the held locks and the waiting requests, in order: all that the server knows, and the requests that wait
   * behind others of this process.
   */
  async query(): Promise<{ held: HeldLock[]; waiting: WaitingLock[] }> {
    if (!(this instanceof SharedMutex)) throw detached('query');
    const { session, local } = this.#open();
    const state = await session.query();
    return describeQuery(state, local.waiters);
  }

  /**
   * Takes the locks on any of `keys` from their holders, in any process. The next requests get the keys, with higher
   * tokens. Resolves to the locks that were taken, as {@link query} shows them. A holder loses all keys of its request;
   * in the mode `local` that includes the optional keys of its process.
   *
   * The holder's signal aborts with a {@link LockLostError} at the latest at the next heartbeat of its process. Until
   * then two holders consider the lock theirs; only the {@link SharedGuard.token | token} distinguishes them.
   */
  async forceUnlock(keys: string | readonly string[]): Promise<HeldLock[]> {
    if (!(this instanceof SharedMutex)) throw detached('forceUnlock');
    const wanted = new Set(readKeys(keys));
    const { session } = this.#open();
    const { held } = describeQuery(await session.query(), []);
    const found = held.filter((lock) => lock.keys.some((key) => wanted.has(key)));
    const taken = await Promise.all(
      found.map(({ id, token, keys }) => session.number({ name: 'take', id, token, keys })),
    );
    return found.filter((_, i) => taken[i]);
  }

  /** Counters since the mutex was created. */
  get metrics(): SharedMutexMetrics {
    return this.#metrics.snapshot();
  }

  /** The number of requests that wait for a lock or at a condition. */
  get waiting(): number {
    return this.#metrics.activity.waiting;
  }

  /** Whether {@link close} or {@link shutdown} has been called, or the store is closed. */
  get closed(): boolean {
    return this.#refusal !== undefined || this.#store.closed;
  }

  /**
   * Resolves when this mutex holds no lock and has no waiting request, and the server has acknowledged each release. A
   * release that fails ends with its lease. New requests are still accepted.
   *
   * Rejects with a `TimeoutError` that says how many locks are held and how many requests wait, or with the reason of
   * the signal.
   */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof SharedMutex)) throw detached('drain');
    await this.#metrics.activity.drain(options, this.#label);
  }

  /**
   * Shuts down gracefully: refuses new requests with a `ClosedError`, serves those that wait, awaits the release of every
   * lock, and then ends its session; the store disconnects if no other primitive uses it. Locks stay valid until they are released; until
   * then holders can notify conditions and wait at them. A request that waits at a condition is served by a notification
   * from any process.
   *
   * `timeout` and `signal` bound only the wait for the queue, and reject like those of {@link drain}. The mutex then
   * stays closed to new requests and continues to serve its queue; {@link close} rejects the requests that still wait.
   * Ending the session takes until the server replies, at most `ttl`. A second call waits in the same way.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedMutex } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const mutex = new SharedMutex(redis(client));
   * const runs = ['a', 'b'].map((name) => mutex.run('job', async () => name));
   * await mutex.shutdown({ timeout: 10_000 });
   * console.log(await Promise.all(runs)); // [ 'a', 'b' ]
   * await mutex.lock('job').catch((error) => console.log(error.name)); // ClosedError
   * client.disconnect();
   * ```
   */
  async shutdown(options: WaitOptions = {}): Promise<void> {
    if (!(this instanceof SharedMutex)) throw detached('shutdown');
    checkWaitOptions(options);
    this.#refuse(this.#closedError());
    const { activity } = this.#metrics;
    this.#ending ??= activity.drain().then(() => this.#close(this.#refusal?.reason));
    await activity.drain(options, this.#label);
    await this.#ending;
  }

  /**
   * Closes at once: refuses new requests and rejects those that wait with `reason`, any value, by default a
   * `ClosedError`. Releases all locks, because the session that renews them ends; the signals of
   * their guards abort with a {@link LockLostError} whose `cause` is the reason. Resolves when all this is done. A second
   * call does nothing and returns the promise of the first.
   *
   * After a {@link shutdown} it rejects the requests that still wait, with its own reason. New requests still reject with
   * the `ClosedError` of the shutdown.
   */
  close(reason?: unknown): Promise<void> {
    if (!(this instanceof SharedMutex)) return Promise.reject(detached('close'));
    const given = reason === undefined ? this.#closedError() : reason;
    this.#refuse(given);
    return this.#close(given);
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #closedError(): ClosedError {
    return new ClosedError(`${this.#label}the mutex is closed`);
  }

  /** Keeps the first reason. */
  #refuse(reason: unknown): void {
    this.#refusal ??= { reason };
  }

  /** Closes once. Every call returns the promise of the first. */
  #close(reason: unknown): Promise<void> {
    if (this.#closing === undefined) {
      let resolve!: (closed: Promise<void>) => void;
      // Set before the locks are taken away, because the abort listener of a guard may call `close`.
      this.#closing = new Promise((resolver) => {
        resolve = resolver;
      });
      resolve(this.#end(reason));
    }
    return this.#closing;
  }

  async #end(reason: unknown): Promise<void> {
    if (this.#queues === undefined) return;
    const { session, local, strict } = this.#queues;
    const lost = new LockLostError(`${this.#label}the mutex was closed`, { cause: reason });
    const acquisitions = (): Acquisition[] => [...local.acquisitions, ...strict.acquisitions];
    for (const acquisition of acquisitions()) acquisition.giveUp(reason);
    for (const acquisition of acquisitions()) acquisition.takeAway(lost);
    await session.close(reason);
    this.#store.delete(this);
  }

  #enter(
    keys: unknown,
    options: LockKeysOptions | undefined,
    wait: boolean,
  ): Promise<SharedGuard | undefined> {
    return new Promise((resolve) => {
      const wanted = readKeys(keys);
      if (options === undefined) {
        this.#refuseIfClosed();
        const queue = this.#open()[this.#mode];
        queue.enter(new Acquisition(queue, this.#metrics, wanted, wait ? {} : { wait }, resolve));
        return;
      }
      checkLockOptions(options, wait);
      const { signal, timeout, owner, maxHold } = options;
      if (signal?.aborted) throw signal.reason;
      this.#refuseIfClosed();
      const held = owner === undefined ? undefined : this.#heldBy(owner, wanted, options);
      if (held !== undefined) return resolve(held.share(wanted));
      const queue = this.#open()[this.#mode];
      const once = timeout === 0;
      const acquisition = new Acquisition(
        queue,
        this.#metrics,
        wanted,
        { owner, wait: wait && !once, maxHold },
        once ? (guard) => resolve(guard ?? Promise.reject(timedOut(0, this.#label))) : resolve,
      );
      acquisition.limit({ signal, timeout: once ? undefined : timeout });
      queue.enter(acquisition);
    });
  }

  /** Returns the lock by which the owner holds all of the keys, if `reentrant`. Throws if the owner holds one of them. */
  #heldBy(
    owner: unknown,
    keys: readonly string[],
    { reentrant = false }: LockKeysOptions,
  ): Acquisition | undefined {
    const { local, strict } = this.#open();
    for (const key of keys) {
      for (const acquisition of [...local.acquisitionsOf(key), ...strict.acquisitionsOf(key)]) {
        if (acquisition.state !== 'held' || !Object.is(acquisition.owner, owner)) continue;
        if (reentrant && keys.every((each) => acquisition.keys.includes(each))) return acquisition;
        const by = `owner ${describe(owner)} of ${this.#process} holds ${describe(key)} already`;
        const since = `with token ${acquisition.guards[0]?.token}, since ${Math.round(acquisition.age)} ms`;
        const other = reentrant ? ', but not all of the keys by that lock' : '';
        throw new ReentrancyError(`${this.#label}${by}, ${since}${other}`, owner);
      }
    }
    return undefined;
  }

  #refuseIfClosed(): void {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    this.#store.refuseIfClosed();
  }

  /** Opens the session with the first call. Throws once the mutex is closing, or the store is closed before that. */
  #open(): Queues {
    if (this.#closing !== undefined) this.#refuseIfClosed();
    if (this.#queues === undefined) {
      this.#store.refuseIfClosed();
      const session = new Session(this.#store, this.#process, this.#metrics, this.#label);
      this.#store.add(this);
      const local = new LocalQueue(session, this.#metrics);
      this.#queues = { session, local, strict: new StrictQueue(session) };
    }
    return this.#queues;
  }
}
