/**
 * The multi-key mutex: what a user holds in hand.
 *
 * Invariant: nothing is sent, and nothing is queued, for a request that cannot be used. What is known
 * of a namespace is kept by its sessions, one for each lease length.
 */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  ClosedError,
  checkInteger,
  describe,
  invalid,
  ReentrancyError,
  TimeoutError,
} from '../sync/errors.js';
import { readTerms, type WaitOptions } from '../sync/queue.js';
import { RedisCondition } from './condition.js';
import { connectionsOf } from './connection/connection.js';
import type { RedisGuard } from './guard.js';
import { baseOf } from './handlers/handler.js';
import { PureHandler } from './handlers/pure.js';
import { ScriptHandler } from './handlers/script.js';
import { Link } from './link.js';
import { LocalQueue } from './local.js';
import { Metrics, type RedisMutexMetrics } from './metrics.js';
import { sessionOf } from './protocol/protocol.js';
import { Session } from './session.js';
import { StrictQueue } from './strict.js';
import { type Queue, Turn } from './turn.js';

/** What a {@link RedisMutex} may be told when it is made. */
export interface RedisMutexOptions {
  /**
   * Locks of different namespaces have nothing to do with each other. A non-empty string without
   * braces. Default `pointsman`.
   */
  readonly namespace?: string | undefined;
  /**
   * How long, in milliseconds, a lock outlives a process that has died or stands still: an integer
   * from 50 to 2147483647. Every third of it a heartbeat renews all locks of the process. Default 5000.
   * All processes of a namespace should use the same.
   */
  readonly ttl?: number | undefined;
  /**
   * `script` needs the right to run Lua and one round trip. `pure` does the same with WATCH and MULTI, in
   * two, and reads all of the namespace each time. Both may share a namespace. Default `script`.
   */
  readonly handler?: 'script' | 'pure' | undefined;
  /**
   * How a lock changes hands. `local`: among the tasks of this process without the server, as long as
   * nobody elsewhere waits, and for at most 5 ms longer once somebody does. `strict`: always through the
   * server, first come, first served among all processes. Default `local`.
   */
  readonly mode?: 'local' | 'strict' | undefined;
  /** What this process is called in `query()`. Default: host name and process id. */
  readonly name?: string | undefined;
}

/** What {@link RedisMutex.tryLock} may be told. */
export interface TryLockKeysOptions {
  /** As for the whole mutex, for this lock. */
  readonly ttl?: number | undefined;
  /** As for the whole mutex, for this lock. */
  readonly mode?: 'local' | 'strict' | undefined;
  /**
   * Who asks: any value but `undefined`, compared by identity. An owner that holds one of the keys
   * already, through this mutex, is refused with a `ReentrancyError`, instead of waiting for itself
   * forever.
   */
  readonly owner?: unknown;
}

/** What {@link RedisMutex.lock} may be told. */
export interface LockKeysOptions extends WaitOptions, TryLockKeysOptions {}

/** A lock that somebody holds. In `local` mode it is a process that holds it, for its tasks. */
export interface HeldLock {
  readonly keys: readonly string[];
  /** The name of the process, with a suffix that makes it unique. */
  readonly session: string;
  readonly id: string;
  /** The first of the fencing tokens that belong to it. */
  readonly token: number;
}

/** A request that waits on the server. */
export interface WaitingLock {
  readonly keys: readonly string[];
  readonly session: string;
  readonly id: string;
  /** The condition at which it waits to be notified; otherwise it waits for its keys. */
  readonly condition: string | undefined;
}

interface Queues {
  readonly session: Session;
  readonly local: LocalQueue;
  readonly strict: StrictQueue;
}

const MOST_KEYS = 1_000;

/** Half a surrogate pair, which on its way to the server would become another character. */
const torn = /\p{Surrogate}/u;

function readKeys(keys: unknown): readonly string[] {
  const list = typeof keys === 'string' ? [keys] : keys;
  if (!Array.isArray(list)) throw invalid('keys', keys, 'a string or an array of strings');
  for (const key of list) {
    if (typeof key !== 'string' || key === '' || torn.test(key)) {
      throw invalid('keys', key, 'non-empty, well-formed strings');
    }
  }
  const unique = list.length > 1 ? [...new Set<string>(list)].sort() : [...list];
  checkInteger('keys.length', unique.length, 1, MOST_KEYS);
  return unique;
}

function readChoice<T extends string>(name: string, value: unknown, choices: readonly T[]): T {
  if (!choices.includes(value as T)) {
    throw invalid(name, value, choices.map((choice) => `'${choice}'`).join(' or '));
  }
  return value as T;
}

const readTtl = (ttl: unknown): number => {
  checkInteger('ttl', ttl, 50, 2 ** 31 - 1);
  return ttl as number;
};

const readName = (name: string, value: unknown, pattern: RegExp, expected: string): string => {
  if (typeof value !== 'string' || !pattern.test(value)) throw invalid(name, value, expected);
  return value;
};

const readNamespace = (namespace: unknown): string =>
  readName(
    'namespace',
    namespace,
    /^[^{}\p{Surrogate}]+$/u,
    'a non-empty, well-formed string without braces',
  );

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
 * {@link close} closes them; until then they keep the process alive.
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
  readonly #link: Link;
  readonly #ownsLink: boolean;
  readonly #options: RedisMutexOptions;
  readonly #handler: 'script' | 'pure';
  readonly #mode: 'local' | 'strict';
  readonly #process: string;
  readonly #metrics = new Metrics();
  readonly #queues = new Map<number, Queues>();
  readonly #children = new Set<RedisMutex>();
  #parent: RedisMutex | undefined;
  /** Counts sessions, whose names must all be different. */
  #sessions = 0;
  #closing: Promise<void> | undefined;

  /**
   * @param client An ioredis `Redis` or `Cluster`, or a node-redis client or cluster. It is not used
   * itself and never closed.
   * @throws {TypeError | RangeError} for a client that is none of these, and for bad options.
   */
  constructor(client: unknown, options: RedisMutexOptions = {}) {
    if (typeof options !== 'object' || options === null) {
      throw invalid('options', options, 'an object');
    }
    const { namespace = 'pointsman', ttl = 5_000, handler = 'script', mode = 'local' } = options;
    const { name = `${hostname()}:${process.pid}` } = options;
    this.namespace = readNamespace(namespace);
    this.ttl = readTtl(ttl);
    this.#handler = readChoice('handler', handler, ['script', 'pure']);
    this.#mode = readChoice('mode', mode, ['local', 'strict']);
    const called = readName(
      'name',
      name,
      /^[^\s/\p{Surrogate}]+$/u,
      'a non-empty, well-formed string without spaces and slashes',
    );
    this.#process = `${called}-${randomUUID().slice(0, 8)}`;
    this.#options = options;
    this.#ownsLink = !(client instanceof Link);
    this.#link = client instanceof Link ? client : new Link(connectionsOf(client));
  }

  /**
   * Locks all of `keys`, waiting until it is this request's turn. Up to 1,000 keys; a key may be any
   * non-empty, well-formed string.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, with a
   * `ClosedError` after {@link close}, with a {@link RedisLockError} if the server refuses or cannot be
   * reached for as long as `ttl`, with a `ReentrancyError` if `owner` holds one of the keys, and with a
   * `TypeError` or `RangeError` for bad input. After a rejection nothing is held and nothing is left in
   * the queue.
   *
   * It is not re-entrant: a task that asks for a key that it holds waits for itself, unless it says who
   * it is by `owner`.
   */
  lock(keys: string | readonly string[], options?: LockKeysOptions): Promise<RedisGuard> {
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
    if (typeof fn !== 'function') throw invalid('fn', fn, 'a function');
    if (typeof keys !== 'function') readKeys(keys);
    return async (...args) =>
      this.run(typeof keys === 'function' ? keys(...args) : keys, () => fn(...args), options);
  }

  /** The condition variable of this name in this namespace. */
  condition(name: string): RedisCondition {
    return new RedisCondition(
      readName('name', name, /^\P{Surrogate}+$/u, 'a non-empty, well-formed string'),
      () => this.#queuesFor(this.ttl).session,
      (session) => {
        const queues = this.#queuesFor(session.ttl);
        return queues.session === session ? queues.strict : undefined;
      },
      this.#metrics,
    );
  }

  /** A mutex of another namespace, with the same options, over the same connections. */
  within(namespace: string): RedisMutex {
    const mutex = new RedisMutex(this.#link, {
      ...this.#options,
      namespace: readNamespace(namespace),
    });
    mutex.#parent = this;
    this.#children.add(mutex);
    return mutex;
  }

  /** Who holds what and who waits, on the server, the first first. */
  async query(): Promise<{ held: HeldLock[]; waiting: WaitingLock[] }> {
    const { locks, requests } = await this.#queuesFor(this.ttl).session.query();
    const held = new Map<string, { keys: string[]; session: string; id: string; token: number }>();
    for (const [key, value] of locks) {
      const [id, token] = value.split(' ') as [string, string];
      const lock = held.get(id) ?? { keys: [], session: sessionOf(id), id, token: Number(token) };
      lock.keys.push(key);
      held.set(id, lock);
    }
    const waiting = [...requests].sort(([, a], [, b]) => Number(a.order) - Number(b.order));
    return {
      held: [...held.values()].sort((a, b) => a.token - b.token),
      waiting: waiting.map(([id, { keys, condition }]) => ({
        keys,
        session: sessionOf(id),
        id,
        condition,
      })),
    };
  }

  /** What this mutex has counted so far. */
  get metrics(): RedisMutexMetrics {
    return this.#metrics.snapshot();
  }

  /**
   * Sends all waiters away with a `ClosedError`, gives all locks back, and closes the connections of
   * its own. Guards that are out are released by it; their signals do not abort. A second call waits
   * for the first.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The same as {@link close}; what `await using` calls. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const error = new ClosedError('the mutex is closed');
    const children = [...this.#children].map((child) => child.close());
    const sessions = [...this.#queues.values()].map(({ session, local, strict }) => {
      for (const turn of [...local.turns, ...strict.turns]) turn.giveUp(error);
      for (const turn of [...local.turns, ...strict.turns]) void turn.release();
      return session.close();
    });
    await Promise.all([...children, ...sessions]);
    if (this.#parent !== undefined) this.#parent.#children.delete(this);
    if (this.#ownsLink) await this.#link.close();
  }

  #enter(
    keys: unknown,
    options: LockKeysOptions | undefined,
    wait: boolean,
  ): Promise<RedisGuard | undefined> {
    return new Promise((resolve) => {
      const wanted = readKeys(keys);
      if (options === undefined) {
        const queue = this.#queuesFor(this.ttl)[this.#mode];
        queue.enter(new Turn(queue, this.#metrics, wanted, wait ? {} : { wait }, resolve));
        return;
      }
      const { signal, timeout, owner } = readTerms(options, 1);
      const { ttl = this.ttl, mode = this.#mode } = options;
      const kind = readChoice('mode', mode, ['local', 'strict']);
      const length = readTtl(ttl);
      if (owner !== undefined) this.#refuseHolder(owner, wanted);
      const queue: Queue = this.#queuesFor(length)[kind];
      const once = timeout === 0;
      const turn = new Turn(
        queue,
        this.#metrics,
        wanted,
        { owner, wait: wait && !once },
        once
          ? (guard) => resolve(guard ?? Promise.reject(new TimeoutError('timed out after 0 ms')))
          : resolve,
      );
      turn.limit({ signal, timeout: once ? undefined : timeout });
      queue.enter(turn);
    });
  }

  #refuseHolder(owner: unknown, keys: readonly string[]): void {
    for (const { local, strict } of this.#queues.values()) {
      for (const key of keys) {
        for (const turn of [...local.turnsOf(key), ...strict.turnsOf(key)]) {
          if (turn.state !== 'inside' || !Object.is(turn.owner, owner)) continue;
          const held = `${describe(key)} already, with token ${turn.guard?.token}`;
          const message = `owner ${describe(owner)} of ${this.#process} holds ${held}`;
          throw new ReentrancyError(`${message}, since ${Math.round(turn.age)} ms`, owner);
        }
      }
    }
  }

  /** Where requests with leases of this length wait. */
  #queuesFor(ttl: number): Queues {
    if (this.#closing !== undefined) throw new ClosedError('the mutex is closed');
    let queues = this.#queues.get(ttl);
    if (queues === undefined) {
      for (const [other, { session }] of this.#queues) {
        if (other !== this.ttl && session.idle) {
          this.#queues.delete(other);
          void session.close();
        }
      }
      const { commands, factory } = this.#link;
      const base = baseOf(factory.keyPrefix, this.namespace);
      const Handler = this.#handler === 'script' ? ScriptHandler : PureHandler;
      const handler = new Handler(commands, base, factory.channels);
      const name = `${this.#process}-${++this.#sessions}`;
      const session = new Session(this.#link, handler, base, name, ttl, this.#metrics);
      const local = new LocalQueue(session, this.#metrics);
      queues = { session, local, strict: new StrictQueue(session) };
      this.#queues.set(ttl, queues);
    }
    return queues;
  }
}
