/**
 * The multi-key mutex, as a user has it.
 *
 * Invariant: what is known of a namespace is kept by its sessions, one for each lease length.
 */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { asyncDispose } from '../sync/dispose.js';
import { ClosedError, describe, detached, invalid, ReentrancyError } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { Acquisition, type Queue } from './acquisition.js';
import { RedisCondition } from './condition.js';
import type { RedisClient } from './connection/client.js';
import { connectionsOf } from './connection/clients.js';
import { Connections } from './connections.js';
import { LockLostError, labelOf } from './errors.js';
import type { RedisGuard } from './guard.js';
import { baseOf } from './handlers/handler.js';
import { PureHandler } from './handlers/pure.js';
import { ScriptHandler } from './handlers/script.js';
import { LocalQueue } from './local/local-queue.js';
import { Metrics, type RedisMutexMetrics } from './metrics.js';
import {
  checkLockOptions,
  checkMutexOptions,
  type LockKeysOptions,
  type RedisMutexOptions,
  readConditionName,
  readHandler,
  readKeys,
  readMode,
  readNamespace,
  readProcessName,
  readTtl,
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
 * Mutual exclusion over one or many keys, all or nothing, between tasks, processes and hosts, on Redis
 * or Valkey.
 *
 * - **All or nothing.** A request takes all of its keys in one step or waits for all of them, so locks
 *   over any overlapping sets never deadlock.
 * - **FIFO.** Requests that share a key are served in the order in which the server received them; no
 *   polling. Between the tasks of one process the order is that of the calls. The mode `local` lets a
 *   process hand a lock on among its own tasks before others, for at most 5 ms.
 * - **Giving up leaves no trace**: an abort or a timeout takes the request out of the queue.
 * - **A process that dies** loses its locks when their `ttl` is over, and its places in the queue when
 *   their turn comes.
 * - **Never late.** A lock whose time has passed is not handed out, however long the answer took.
 *
 * What no lock of this kind can do: stop a task that stands still, for longer than `ttl`, between its
 * last look at the guard and what it does then. Only the fencing {@link RedisGuard.token | token} can,
 * where it is checked by whatever the lock protects.
 *
 * It opens two connections of its own, with the settings of the client that it was given, on first use.
 * {@link shutdown} and {@link close} close them; until then they keep the process alive.
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
  /** What messages of errors begin with. */
  readonly #label: string;
  readonly #metrics = new Metrics();
  readonly #queues = new Map<number, Queues>();
  readonly #children = new Set<RedisMutex>();
  #parent: RedisMutex | undefined;
  /** Counts sessions, whose names must all be different. */
  #sessions = 0;
  /** The error for new requests: the reason of the first call that ended the mutex. */
  #refusal: { readonly reason: unknown } | undefined;
  /** Resolves when all locks are released and the connections are closed. */
  #closing: Promise<void> | undefined;
  /** The same for what a shutdown has begun. */
  #ending: Promise<void> | undefined;

  /**
   * @param client An ioredis `Redis` or `Cluster`, or a node-redis client, pool, sentinel or cluster, of version 5 or
   * later. The mutex never closes it. A pool or a sentinel must be connected.
   * @throws {TypeError | RangeError} for a client that is none of these, and for bad options.
   */
  constructor(client: RedisClient, options: RedisMutexOptions = {}) {
    checkMutexOptions(options);
    const { namespace = 'pointsman', ttl = 5_000, handler = 'script', mode = 'local' } = options;
    const { name = `${hostname()}:${process.pid}` } = options;
    this.namespace = readNamespace(namespace);
    this.ttl = readTtl(ttl);
    this.#handler = readHandler(handler);
    this.#mode = readMode(mode);
    this.#process = `${readProcessName(name)}-${randomUUID().slice(0, 8)}`;
    this.#label = labelOf(options.name);
    this.#options = options;
    this.#ownsConnections = !(client instanceof Connections);
    this.#connections =
      client instanceof Connections ? client : new Connections(connectionsOf(client));
  }

  /**
   * Locks all of `keys`, waiting until it is this request's turn. Up to 1,000 keys; a key may be any
   * non-empty, well-formed string.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, with the
   * reason of {@link close}, by default a `ClosedError`, with a {@link RedisLockError} if the server refuses or cannot be
   * reached for as long as `ttl`, with a `ReentrancyError` if `owner` holds one of the keys, and with a
   * `TypeError` or `RangeError` for bad input. After a rejection nothing is held and nothing is left in
   * the queue.
   *
   * It is not re-entrant: a task that asks for a key that it holds waits for itself, unless it says who
   * it is by `owner`. With `reentrant` too, it gets another guard of the lock that it has.
   */
  lock(keys: string | readonly string[], options?: LockKeysOptions): Promise<RedisGuard> {
    if (!(this instanceof RedisMutex)) return Promise.reject(detached('lock'));
    return this.#enter(keys, options, true) as Promise<RedisGuard>;
  }

  /**
   * Locks all of `keys` if that needs no waiting; otherwise resolves to `undefined` and nothing has
   * changed. Rejects as {@link lock} does.
   */
  tryLock(
    keys: string | readonly string[],
    options?: TryLockKeysOptions,
  ): Promise<RedisGuard | undefined> {
    if (!(this instanceof RedisMutex)) return Promise.reject(detached('tryLock'));
    return this.#enter(keys, options, false);
  }

  /**
   * Runs `fn` under the lock and gives the lock back when its result has settled. The result, value or
   * error, is that of `fn`, also if the lock was lost meanwhile: `fn` is given the guard, and can pass
   * its signal on or look at it last.
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
   * A function that does what `fn` does, under the lock. `keys` may be computed from the arguments.
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

  /** The condition variable of this name in this namespace. */
  condition(name: string): RedisCondition {
    if (!(this instanceof RedisMutex)) throw detached('condition');
    return new RedisCondition(
      readConditionName(name),
      () => this.#queuesFor(this.ttl).session,
      (session) => {
        const queues = this.#queuesFor(session.ttl);
        return queues.session === session ? queues.strict : undefined;
      },
      this.#metrics,
    );
  }

  /**
   * A mutex of another namespace, with the same options, over the same connections. It is closed with
   * this one.
   *
   * @throws {TypeError} for a bad namespace, and the reason of {@link close} after that.
   */
  within(namespace: string): RedisMutex {
    if (!(this instanceof RedisMutex)) throw detached('within');
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
   * Who holds what and who waits, the first first: what the server knows of all processes, and who waits
   * for a lock of this process behind others of it.
   */
  async query(): Promise<{ held: HeldLock[]; waiting: WaitingLock[] }> {
    if (!(this instanceof RedisMutex)) throw detached('query');
    const state = await this.#queuesFor(this.ttl).session.query();
    return describeQuery(
      state,
      [...this.#queues.values()].flatMap(({ local }) => local.waiters),
    );
  }

  /**
   * Takes the locks on any of `keys` from whoever holds them, in whatever process; who waits for the keys
   * gets them next, with higher tokens. Resolves to the locks that were taken, as {@link query} shows
   * them: all that a request holds goes with it, also its other keys, and in the mode `local` what its
   * process has taken along.
   *
   * The loser's signal aborts with a {@link LockLostError} when the news reaches its process, at the
   * latest at its next heartbeat. Until then two believe to hold the lock: what must not happen twice
   * has to check the {@link RedisGuard.token | token}.
   */
  async forceUnlock(keys: string | readonly string[]): Promise<HeldLock[]> {
    if (!(this instanceof RedisMutex)) throw detached('forceUnlock');
    const wanted = new Set(readKeys(keys));
    const { session } = this.#queuesFor(this.ttl);
    const { held } = describeQuery(await session.query(), []);
    const found = held.filter((lock) => lock.keys.some((key) => wanted.has(key)));
    const taken = await Promise.all(
      found.map(({ id, token, keys }) => session.number({ name: 'take', id, token, keys })),
    );
    return found.filter((_, i) => taken[i]);
  }

  /** What this mutex has counted so far. */
  get metrics(): RedisMutexMetrics {
    return this.#metrics.snapshot();
  }

  /** The number of requests of this object, and of the mutexes {@link within} it, that wait: for a lock or at a condition. */
  get waiting(): number {
    return this.#metrics.activity.waiting;
  }

  /** Whether new requests are refused: true from the first call of {@link close} or {@link shutdown} on. */
  get closed(): boolean {
    return this.#refusal !== undefined;
  }

  /**
   * Resolves when this mutex and the mutexes {@link within} it hold no lock and have no waiting request, and the server
   * has acknowledged each release. A release that fails ends with its lease. New requests are still accepted.
   *
   * Rejects with a `TimeoutError` that says how many locks are held and how many requests wait, or with the reason of
   * the signal.
   */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof RedisMutex)) throw detached('drain');
    await this.#metrics.activity.drain(options, this.#label);
  }

  /**
   * Shuts down gracefully, with the mutexes {@link within} it: refuses new requests with a `ClosedError`, serves those
   * that wait, awaits the release of every lock, and then closes the connections. Locks stay valid until they are
   * released; until then holders can notify conditions and wait at them. A request that waits at a condition is served
   * by a notification from any process.
   *
   * `timeout` and `signal` bound only the wait for the queue. When one of them ends the wait, the promise rejects with a
   * `TimeoutError` that says how many locks are held and how many requests wait, or with the signal's reason. The mutex
   * stays closed to new requests and continues to serve its queue; {@link close} then rejects the requests that still
   * wait. Closing the connections takes until the server answers, at most `ttl`. A second call waits in the same way.
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
    // Also if this call is given up.
    this.#ending ??= activity.drain().then(() => this.#close(this.#refusal?.reason));
    await activity.drain(options, this.#label);
    await this.#ending;
  }

  /**
   * Closes at once, with the mutexes {@link within} it: refuses new requests and rejects those that wait with `reason`,
   * any value, by default a `ClosedError`. Releases all locks, because the connections that renew them are closed; the
   * signals of their guards abort with a {@link LockLostError} whose `cause` is the reason. Resolves when all this is
   * done. A second call does nothing and returns the promise of the first.
   *
   * After a {@link shutdown} it rejects the requests that still wait, with its own reason. New requests are refused with
   * the `ClosedError` of the shutdown as before.
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
      // Set before the locks are taken away: the abort listener of a guard may call `close`.
      this.#closing = new Promise((resolver) => {
        resolve = resolver;
      });
      resolve(this.#end(reason));
    }
    return this.#closing;
  }

  async #end(reason: unknown): Promise<void> {
    const children = [...this.#children].map((child) => child.close(reason));
    const lost = new LockLostError(`${this.#label}the mutex was closed`, { cause: reason });
    const sessions = [...this.#queues.values()].map(({ session, local, strict }) => {
      for (const acquisition of [...local.acquisitions, ...strict.acquisitions])
        acquisition.giveUp(reason);
      for (const acquisition of [...local.acquisitions, ...strict.acquisitions])
        acquisition.takeAway(lost);
      return session.close(reason);
    });
    await Promise.all([...children, ...sessions]);
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
        const queue = this.#queuesFor(this.ttl)[this.#mode];
        queue.enter(new Acquisition(queue, this.#metrics, wanted, wait ? {} : { wait }, resolve));
        return;
      }
      checkLockOptions(options, wait);
      const { signal, timeout, owner, ttl = this.ttl, mode = this.#mode } = options;
      if (signal?.aborted) throw signal.reason;
      this.#refuseIfClosed();
      const held = owner === undefined ? undefined : this.#heldBy(owner, wanted, options);
      if (held !== undefined) {
        resolve(held.share(wanted));
        return;
      }
      const queue: Queue = this.#queuesFor(ttl)[mode];
      const once = timeout === 0;
      const acquisition: Acquisition = new Acquisition(
        queue,
        this.#metrics,
        wanted,
        { owner, wait: wait && !once, maxHold: options.maxHold },
        once ? (guard) => resolve(guard ?? Promise.reject(acquisition.timedOut(0))) : resolve,
      );
      acquisition.limit({ signal, timeout: once ? undefined : timeout });
      queue.enter(acquisition);
    });
  }

  /** The lock by which the owner holds the keys, if it does and may have it again. */
  #heldBy(
    owner: unknown,
    keys: readonly string[],
    { reentrant = false }: LockKeysOptions,
  ): Acquisition | undefined {
    for (const { local, strict } of this.#queues.values()) {
      for (const key of keys) {
        for (const acquisition of [...local.acquisitionsOf(key), ...strict.acquisitionsOf(key)]) {
          if (acquisition.state !== 'held' || !Object.is(acquisition.owner, owner)) continue;
          if (reentrant && keys.every((each) => acquisition.keys.includes(each))) {
            return acquisition;
          }
          const held = `${describe(key)} already, with token ${acquisition.guard?.token}`;
          const message = `owner ${describe(owner)} of ${this.#process} holds ${held}`;
          const since = `since ${Math.round(acquisition.age)} ms`;
          const other = reentrant ? ', but not all of the keys by that lock' : '';
          throw new ReentrancyError(`${this.#label}${message}, ${since}${other}`, owner);
        }
      }
    }
    return undefined;
  }

  #refuseIfClosed(): void {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
  }

  /** Where requests with leases of this length wait. */
  #queuesFor(ttl: number): Queues {
    if (this.#closing !== undefined) this.#refuseIfClosed();
    let queues = this.#queues.get(ttl);
    if (queues === undefined) {
      for (const [other, { session }] of this.#queues) {
        if (other !== this.ttl && session.idle) {
          this.#queues.delete(other);
          void session.close();
        }
      }
      const { commands, factory } = this.#connections;
      const base = baseOf(factory.keyPrefix, this.namespace);
      const Handler = this.#handler === 'script' ? ScriptHandler : PureHandler;
      const handler = new Handler(commands, base, factory);
      const name = `${this.#process}-${++this.#sessions}`;
      const session = new Session(
        this.#connections,
        handler,
        base,
        name,
        ttl,
        this.#metrics,
        this.#label,
      );
      const local = new LocalQueue(session, this.#metrics);
      queues = { session, local, strict: new StrictQueue(session) };
      this.#queues.set(ttl, queues);
    }
    return queues;
  }
}
