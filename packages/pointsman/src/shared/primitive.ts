/**
 * What the primitives between processes have in common: a store, a session with it, and how they end.
 *
 * Invariant: a primitive has one session, created by the first request. Once it is closed, no request is accepted, and
 * every acquisition that it has granted is released or lost.
 */

import { randomUUID } from 'node:crypto';
import { asyncDispose } from '../sync/dispose.js';
import { ClosedError, detached, timedOut } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import {
  Acquisition,
  type Queue,
  type Resolve,
  type SharedGuard,
  type Terms,
} from './acquisition.js';
import { LockLostError, labelOf } from './errors.js';
import { Metrics } from './metrics.js';
import { defaultName } from './options.js';
import type { Share } from './protocol/protocol.js';
import { describeQuery, type HeldLock, type LocalWaiter, type WaitingLock } from './query.js';
import { Session } from './session/session.js';
import { type BaseStore, checkStore, type Store } from './store.js';
import { StrictQueue } from './strict.js';

export abstract class SharedPrimitive {
  readonly #store: BaseStore;
  readonly #kind: string;
  /** @internal The name of this process in the store. */
  readonly _process: string;
  /** @internal The prefix of error messages. */
  readonly _label: string;
  /** @internal */
  readonly _metrics = new Metrics();
  #strict: StrictQueue | undefined;
  /** The error for new requests: the reason of the first call that ended the primitive. */
  #refusal: { readonly reason: unknown } | undefined;
  /** Resolves when all that is held is released and the session has ended. */
  #closing: Promise<void> | undefined;
  /** Resolves when the first {@link shutdown} has closed the primitive, even if its caller gave up. */
  #ending: Promise<void> | undefined;

  /** @internal `kind` is the word for the primitive in error messages. */
  constructor(store: Store, kind: string, name: string | undefined) {
    checkStore(store);
    const given = name ?? store.name;
    this.#store = store;
    this.#kind = kind;
    this._process = `${given ?? defaultName()}-${randomUUID().slice(0, 8)}`;
    this._label = labelOf(given);
  }

  /** The number of requests that wait for a lock or at a condition. */
  get waiting(): number {
    return this._metrics.activity.waiting;
  }

  /**
   * Returns the held locks and the waiting requests of the namespace, in order: those of every primitive that the store
   * knows, and the requests that wait behind others of this process.
   */
  async query(): Promise<{ held: HeldLock[]; waiting: WaitingLock[] }> {
    if (!(this instanceof SharedPrimitive)) throw detached('query');
    return describeQuery(await this._open().session.query(), this._localWaiters);
  }

  /** Whether {@link close} or {@link shutdown} has been called, or the store is closed. */
  get closed(): boolean {
    return this.#refusal !== undefined || this.#store.closed;
  }

  /**
   * Resolves when this process holds nothing through this primitive and has no waiting request, and the store has
   * acknowledged each release. A release that fails ends with its lease. New requests are still accepted.
   *
   * Rejects with a `TimeoutError` that says how many locks are held and how many requests wait, or with the reason of
   * the signal.
   */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof SharedPrimitive)) throw detached('drain');
    await this._metrics.activity.drain(options, this._label);
  }

  /**
   * Shuts down gracefully: refuses new requests with a `ClosedError`, serves those that wait, awaits the release of every
   * guard, and then ends its session; the store disconnects if no other primitive uses it. Guards stay valid until they
   * are released; until then holders of a mutex can notify conditions and wait at them. A request that waits at a
   * condition is served by a notification from any process.
   *
   * `timeout` and `signal` bound only the wait for the queue, and reject like those of {@link drain}. The primitive then
   * stays closed to new requests and continues to serve its queue; {@link close} rejects the requests that still wait.
   * Ending the session takes until the store replies, at most `ttl`. A second call waits in the same way.
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
    if (!(this instanceof SharedPrimitive)) throw detached('shutdown');
    checkWaitOptions(options);
    this.#refuse(this.#closedError());
    const { activity } = this._metrics;
    this.#ending ??= activity.drain().then(() => this.#close(this.#refusal?.reason));
    await activity.drain(options, this._label);
    await this.#ending;
  }

  /**
   * Closes at once: refuses new requests and rejects those that wait with `reason`, any value, by default a
   * `ClosedError`. Releases all guards, because the session that renews them ends; their signals abort with a
   * {@link LockLostError} whose `cause` is the reason. Resolves when all this is done. A second call does nothing and
   * returns the promise of the first.
   *
   * After a {@link shutdown} it rejects the requests that still wait, with its own reason. New requests still reject with
   * the `ClosedError` of the shutdown.
   */
  close(reason?: unknown): Promise<void> {
    if (!(this instanceof SharedPrimitive)) return Promise.reject(detached('close'));
    const given = reason === undefined ? this.#closedError() : reason;
    this.#refuse(given);
    return this.#close(given);
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #closedError(): ClosedError {
    return new ClosedError(`${this._label}the ${this.#kind} is closed`);
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
    if (this.#strict === undefined) return;
    const message = `${this._label}the ${this.#kind} was closed`;
    const lost = new LockLostError(message, { cause: reason });
    const acquisitions = (): Acquisition[] =>
      this._queues.flatMap((queue) => [...queue.acquisitions]);
    for (const acquisition of acquisitions()) acquisition.giveUp(reason);
    for (const acquisition of acquisitions()) acquisition.takeAway(lost);
    await this.#strict.session.close(reason);
    this.#store.delete(this);
  }

  /** @internal Requests keys through the store's queue. Resolves to undefined if they are not free and `wait` is false. */
  _request(
    keys: readonly string[],
    options: WaitOptions & { readonly maxHold?: number | undefined },
    share: Share | undefined,
    wait: boolean,
  ): Promise<SharedGuard | undefined> {
    return new Promise((resolve) => {
      const { signal, timeout, maxHold } = options;
      if (signal?.aborted) throw signal.reason;
      this._refuseIfClosed();
      const queue = this._queue();
      this._enter(queue, keys, { signal, timeout }, { wait, maxHold, share }, resolve);
    });
  }

  /** @internal Enters a queue for `keys`. With a `timeout` of 0 the request does not wait, and rejects instead. */
  _enter(
    queue: Queue,
    keys: readonly string[],
    { signal, timeout }: WaitOptions,
    terms: Terms & { readonly wait: boolean },
    resolve: Resolve,
  ): void {
    const once = timeout === 0;
    const acquisition = new Acquisition(
      queue,
      this._metrics,
      keys,
      { ...terms, wait: terms.wait && !once },
      once ? (guard) => resolve(guard ?? Promise.reject(timedOut(0, this._label))) : resolve,
    );
    acquisition.limit({ signal, timeout: once ? undefined : timeout });
    queue.enter(acquisition);
  }

  /** @internal Runs `fn` under a guard, and releases it when the result has settled. */
  async _runWith<T>(
    acquired: Promise<SharedGuard>,
    fn: (guard: SharedGuard) => T | PromiseLike<T>,
  ): Promise<T> {
    const guard = await acquired;
    try {
      return await fn(guard);
    } finally {
      await guard.release();
    }
  }

  /** @internal */
  _refuseIfClosed(): void {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    this.#store.refuseIfClosed();
  }

  /** @internal Opens the session with the first call. Throws once the primitive is closing, or the store was closed before. */
  _open(): StrictQueue {
    if (this.#closing !== undefined) this._refuseIfClosed();
    if (this.#strict === undefined) {
      this.#store.refuseIfClosed();
      const session = new Session(this.#store, this._process, this._metrics, this._label);
      this.#store.add(this);
      this.#strict = new StrictQueue(session);
    }
    return this.#strict;
  }

  /** @internal The queue of {@link _request}. */
  protected _queue(): Queue {
    return this._open();
  }

  /** @internal The requests that the store may not know. */
  get _localWaiters(): readonly LocalWaiter[] {
    return [];
  }

  /** @internal The queues with requests; none before the session is open. */
  get _queues(): readonly Queue[] {
    return this.#strict === undefined ? [] : [this.#strict];
  }
}
