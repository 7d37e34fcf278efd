/** The public class. Invariant: a mutex has one session with the server, created by the first request. */

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
import { Acquisition, type RedisGuard } from './acquisition.js';
import { RedisCondition } from './condition.js';
import type { RedisClient } from './connection/client.js';
import { connectionsOf } from './connection/clients.js';
import { Connections } from './connections.js';
import { LockLostError, labelOf } from './errors.js';
import { baseOf } from './handlers/handler.js';
import { PureHandler } from './handlers/pure.js';
import { ScriptHandler } from './handlers/script.js';
import { LocalQueue } from './local/local-queue.js';
import { Metrics, type RedisMutexMetrics } from './metrics.js';
import {
  checkLockOptions,
  type LockKeysOptions,
  type RedisMutexOptions,
  readConditionName,
  readKeys,
  readMutexOptions,
  readNamespace,
  type TryLockKeysOptions,
} from './options.js';
import { describeQuery, type HeldLock, type WaitingLock } from './query.js';
import { Session } from './session/session.js';
import { StrictQueue } from './strict.js';

interface Queues {
  readonly session: Session;
  readonly local: LocalQueue;
  readonly strict: StrictQueue;
}

/**
 * Mutual exclusion over one or many keys, all or nothing, between tasks, processes and hosts, on Redis or Valkey.
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
 * effect. Only the fencing {@link RedisGuard.token | token} can, if the protected resource checks it.
 *
 * The mutex opens two connections of its own on first use, with the settings of the given client. They keep the process
 * alive until {@link shutdown} or {@link close}.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { RedisMutex } from 'pointsman/redis';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const mutex = new RedisMutex(client);
 * {
 *   await using guard = await mutex.lock(['account:1', 'account:2'], { timeout: 1_000 });
 *   console.log(guard.keys); // [ 'account:1', 'account:2' ]
 * }
 * console.log(await mutex.run('account:1', async () => 'done')); // done
 * await mutex.close();
 * client.disconnect();
 * ```
 */
export class RedisMutex {
  readonly namespace: string;
  readonly ttl: number;
  readonly #connections: Connections;
  readonly #ownsConnections: boolean;
  readonly #options: RedisMutexOptions;
  readonly #handler: 'script' | 'pure';
  readonly #mode: 'local' | 'strict';
  readonly #process: string;
  /** The prefix of error messages. */
  readonly #label: string;
  readonly #metrics = new Metrics();
  #queues: Queues | undefined;
  readonly #children = new Set<RedisMutex>();
  #parent: RedisMutex | undefined;
  /** The error for new requests: the reason of the first call that ended the mutex. */
  #refusal: { readonly reason: unknown } | undefined;
  /** Resolves when all locks are released and the connections are closed. */
  #closing: Promise<void> | undefined;
  /** Resolves when the first {@link shutdown} has closed the mutex, even if its caller gave up. */
  #ending: Promise<void> | undefined;

  /**
   * @param client An ioredis `Redis` or `Cluster`, or a node-redis client, pool, sentinel or cluster, version 5 or later.
   * The mutex never closes it. A pool or a sentinel must be connected.
   * @throws {TypeError | RangeError} if the client or an option is invalid.
   */
  constructor(client: RedisClient, options: RedisMutexOptions = {}) {
    const { namespace, ttl, handler, mode, name } = readMutexOptions(options);
    this.namespace = namespace;
    this.ttl = ttl;
    this.#handler = handler;
    this.#mode = mode;
    this.#process = `${name}-${randomUUID().slice(0, 8)}`;
    this.#label = labelOf(options.name);
    this.#options = options;
    this.#ownsConnections = !(client instanceof Connections);
    this.#connections =
      client instanceof Connections ? client : new Connections(connectionsOf(client));
  }

  /**
   * Locks all of `keys`; waits until all of them are free and it is this request's turn. Up to 1,000 keys, each a
   * non-empty, well-formed string.
   *
   * Never throws. The promise rejects with
   * - the signal's reason or a `TimeoutError` if the wait is given up,
   * - the reason of {@link close}, by default a `ClosedError`,
   * - a {@link RedisLockError} if the server refuses or cannot be reached for as long as `ttl`,
   * - a `ReentrancyError` if `owner` holds one of the keys,
   * - a `TypeError` or `RangeError` if an argument is invalid.
   *
   * After a rejection nothing is held or queued.
   * The lock is not reentrant: a task that requests a key that it holds waits forever, unless it passes an `owner`. With
   * `reentrant` as well, the owner gets another guard of its lock.
   */
  lock(keys: string | readonly string[], options?: LockKeysOptions): Promise<RedisGuard> {
    if (!(this instanceof RedisMutex)) return Promise.reject(detached('lock'));
    return this.#enter(keys, options, true) as Promise<RedisGuard>;
  }

  /** Locks all of `keys` if they are free; otherwise resolves to `undefined`. Rejects like {@link lock}. */
  tryLock(
    keys: string | readonly string[],
    options?: TryLockKeysOptions,
  ): Promise<RedisGuard | undefined> {
    if (!(this instanceof RedisMutex)) return Promise.reject(detached('tryLock'));
    return this.#enter(keys, options, false);
  }

  /**
   * Runs `fn` under the lock and releases the lock when the result of `fn` has settled. Settles like `fn`, even if the
   * lock was lost meanwhile: `fn` gets the guard, and can pass its signal on or check it last.
   */
  async run<T>(
    keys: string | readonly string[],
    fn: (guard: RedisGuard) => T | PromiseLike<T>,
    options?: LockKeysOptions,
  ): Promise<T> {
    if (!(this instanceof RedisMutex)) throw detached('run');
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
   * import { RedisMutex } from 'pointsman/redis';
   *
   * const client = await createClient({ url: process.env.REDIS_URL ?? 'redis://localhost' }).connect();
   * const mutex = new RedisMutex(client);
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
    if (!(this instanceof RedisMutex)) throw detached('wrap');
    if (typeof fn !== 'function') throw invalid('fn', fn, 'a function');
    if (typeof keys !== 'function') readKeys(keys);
    if (options !== undefined) checkLockOptions(options);
    return async (...args) =>
      this.run(typeof keys === 'function' ? keys(...args) : keys, () => fn(...args), options);
  }

  /** Returns the condition variable with this name in this namespace. */
  condition(name: string): RedisCondition {
    if (!(this instanceof RedisMutex)) throw detached('condition');
    return new RedisCondition(readConditionName(name), () => this.#open().strict, this.#metrics);
  }

  /**
   * Creates a mutex of another namespace with the same options and connections. It is closed with this one.
   *
   * @throws {TypeError} if the namespace is invalid; the reason of {@link close} if this mutex is closed.
   */
  withNamespace(namespace: string): RedisMutex {
    if (!(this instanceof RedisMutex)) throw detached('withNamespace');
    this.#refuseIfClosed();
    const mutex = new RedisMutex(this.#connections as never, {
      ...this.#options,
      namespace: readNamespace(namespace),
    });
    mutex.#parent = this;
    mutex.#metrics.activity.parent = this.#metrics.activity;
    this.#children.add(mutex);
    return mutex;
  }

  /**
   * Returns the held locks and the waiting requests, in order: all that the server knows, and the requests that wait
   * behind others of this process.
   */
  async query(): Promise<{ held: HeldLock[]; waiting: WaitingLock[] }> {
    if (!(this instanceof RedisMutex)) throw detached('query');
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
   * then two holders consider the lock theirs; only the {@link RedisGuard.token | token} distinguishes them.
   */
  async forceUnlock(keys: string | readonly string[]): Promise<HeldLock[]> {
    if (!(this instanceof RedisMutex)) throw detached('forceUnlock');
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
  get metrics(): RedisMutexMetrics {
    return this.#metrics.snapshot();
  }

  /** The number of requests that wait for a lock or at a condition, including those of child mutexes ({@link withNamespace}). */
  get waiting(): number {
    return this.#metrics.activity.waiting;
  }

  /** Whether {@link close} or {@link shutdown} has been called. */
  get closed(): boolean {
    return this.#refusal !== undefined;
  }

  /**
   * Resolves when this mutex and its child mutexes hold no lock and have no waiting request, and the server has
   * acknowledged each release. A release that fails ends with its lease. New requests are still accepted.
   *
   * Rejects with a `TimeoutError` that says how many locks are held and how many requests wait, or with the reason of
   * the signal.
   */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof RedisMutex)) throw detached('drain');
    await this.#metrics.activity.drain(options, this.#label);
  }

  /**
   * Shuts down gracefully, with all child mutexes: refuses new requests with a `ClosedError`, serves those that wait,
   * awaits the release of every lock, and then closes the connections. Locks stay valid until they are released; until
   * then holders can notify conditions and wait at them. A request that waits at a condition is served by a notification
   * from any process.
   *
   * `timeout` and `signal` bound only the wait for the queue, and reject like those of {@link drain}. The mutex then
   * stays closed to new requests and continues to serve its queue; {@link close} rejects the requests that still wait.
   * Closing the connections takes until the server replies, at most `ttl`. A second call waits in the same way.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { RedisMutex } from 'pointsman/redis';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const mutex = new RedisMutex(client);
   * const runs = ['a', 'b'].map((name) => mutex.run('job', async () => name));
   * await mutex.shutdown({ timeout: 10_000 });
   * console.log(await Promise.all(runs)); // [ 'a', 'b' ]
   * await mutex.lock('job').catch((error) => console.log(error.name)); // ClosedError
   * client.disconnect();
   * ```
   */
  async shutdown(options: WaitOptions = {}): Promise<void> {
    if (!(this instanceof RedisMutex)) throw detached('shutdown');
    checkWaitOptions(options);
    this.#refuse(this.#closedError());
    const { activity } = this.#metrics;
    this.#ending ??= activity.drain().then(() => this.#close(this.#refusal?.reason));
    await activity.drain(options, this.#label);
    await this.#ending;
  }

  /**
   * Closes at once, with all child mutexes: refuses new requests and rejects those that wait with `reason`, any value,
   * by default a `ClosedError`. Releases all locks, because the connections that renew them are closed; the signals of
   * their guards abort with a {@link LockLostError} whose `cause` is the reason. Resolves when all this is done. A second
   * call does nothing and returns the promise of the first.
   *
   * After a {@link shutdown} it rejects the requests that still wait, with its own reason. New requests still reject with
   * the `ClosedError` of the shutdown.
   */
  close(reason?: unknown): Promise<void> {
    if (!(this instanceof RedisMutex)) return Promise.reject(detached('close'));
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
    for (const child of this.#children) child.#refuse(reason);
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
    const ends = [...this.#children].map((child) => child.close(reason));
    if (this.#queues !== undefined) {
      const { session, local, strict } = this.#queues;
      const lost = new LockLostError(`${this.#label}the mutex was closed`, { cause: reason });
      const acquisitions = (): Acquisition[] => [...local.acquisitions, ...strict.acquisitions];
      for (const acquisition of acquisitions()) acquisition.giveUp(reason);
      for (const acquisition of acquisitions()) acquisition.takeAway(lost);
      ends.push(session.close(reason));
    }
    await Promise.all(ends);
    if (this.#parent !== undefined) this.#parent.#children.delete(this);
    if (this.#ownsConnections) await this.#connections.close();
  }

  #enter(
    keys: unknown,
    options: LockKeysOptions | undefined,
    wait: boolean,
  ): Promise<RedisGuard | undefined> {
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
  }

  /** Opens the session with the first call. Throws once the mutex is closing. */
  #open(): Queues {
    if (this.#closing !== undefined) this.#refuseIfClosed();
    if (this.#queues === undefined) {
      const { commands, factory } = this.#connections;
      const base = baseOf(factory.keyPrefix, this.namespace);
      const Handler = this.#handler === 'script' ? ScriptHandler : PureHandler;
      const session = new Session(
        this.#connections,
        new Handler(commands, base, factory),
        base,
        this.#process,
        this.ttl,
        this.#metrics,
        this.#label,
      );
      const local = new LocalQueue(session, this.#metrics);
      this.#queues = { session, local, strict: new StrictQueue(session) };
    }
    return this.#queues;
  }
}
