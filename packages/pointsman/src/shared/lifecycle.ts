/**
 * Shutdown of the shared primitives: `drain`, `shutdown` and `close`.
 *
 * Invariant: once a primitive is closed, it accepts no request, and every lock or permit that it granted is released or
 * lost.
 */

import { asyncDispose } from '../sync/dispose.js';
import { ClosedError, detached } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { Activity } from './metrics.js';
import type { BaseStore } from './store.js';

export abstract class SharedLifecycle {
  /** @internal */
  readonly _store: BaseStore;
  /** @internal The word for the primitive in error messages. */
  readonly _kind: string;
  /** @internal The prefix of error messages. */
  readonly _label: string;
  /** @internal */
  readonly _activity = new Activity();
  /** The error for new requests: the reason of the first call that ended the primitive. */
  #refusal: { readonly reason: unknown } | undefined;
  /** Resolves when all that is held is released and the session has ended. */
  #closing: Promise<void> | undefined;
  /** Resolves when the first {@link shutdown} has closed the primitive, even if its caller gave up. */
  #ending: Promise<void> | undefined;

  /** @internal */
  constructor(store: BaseStore, kind: string, label: string) {
    this._store = store;
    this._kind = kind;
    this._label = label;
  }

  /** The number of requests of this process that wait. */
  get waiting(): number {
    return this._activity.waiting;
  }

  /** Whether {@link close} or {@link shutdown} has been called, or the store is closed. */
  get closed(): boolean {
    return this.#refusal !== undefined || this._store.closed;
  }

  /**
   * Resolves when this process holds nothing through this primitive and has no waiting request, and the store has
   * acknowledged each release. If a release fails, the lock ends with its lease. New requests are still accepted.
   *
   * Rejects with a `TimeoutError` that says how much is held and how many requests wait, or with the reason of the
   * signal.
   */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof SharedLifecycle)) throw detached('drain');
    await this._activity.drain(options, this._label);
  }

  /**
   * Shuts down gracefully: refuses new requests with a `ClosedError`, serves those that wait, awaits the release of every
   * guard or permit, and then ends its session; the store disconnects if no other primitive uses it. Guards stay valid
   * until they are released; until then holders of a mutex can notify conditions and wait at them. A request that waits at a
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
    if (!(this instanceof SharedLifecycle)) throw detached('shutdown');
    checkWaitOptions(options);
    this.#refuse(this.#closedError());
    this.#ending ??= this._activity.drain().then(() => this.#close(this.#refusal?.reason));
    await this._activity.drain(options, this._label);
    await this.#ending;
  }

  /**
   * Closes at once: refuses new requests and rejects those that wait with `reason`, any value, by default a
   * `ClosedError`. Releases all guards, because the session that renews them ends; their signals abort with a
   * {@link LockLostError} whose `cause` is the reason. A limiter returns the unused starts of its leases, and frees
   * the concurrency of its permits. Resolves when all this is done, or a limiter's `deadline` has passed. A second call does
   * nothing and returns the promise of the first.
   *
   * After a {@link shutdown} it rejects the requests that still wait, with its own reason. New requests still reject with
   * the `ClosedError` of the shutdown.
   */
  close(reason?: unknown): Promise<void> {
    if (!(this instanceof SharedLifecycle)) return Promise.reject(detached('close'));
    const given = reason === undefined ? this.#closedError() : reason;
    this.#refuse(given);
    return this.#close(given);
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #closedError(): ClosedError {
    return new ClosedError(`${this._label}the ${this._kind} is closed`);
  }

  /** Keeps the first reason. */
  #refuse(reason: unknown): void {
    this.#refusal ??= { reason };
  }

  /** Closes once. Every call returns the promise of the first. */
  #close(reason: unknown): Promise<void> {
    if (this.#closing === undefined) {
      let resolve!: (closed: Promise<void>) => void;
      // Set before anything ends, because the abort listener of a guard may call `close`.
      this.#closing = new Promise((resolver) => {
        resolve = resolver;
      });
      resolve(this._end(reason).then(() => this._store.delete(this)));
    }
    return this.#closing;
  }

  /** @internal Ends what is open. */
  abstract _end(reason: unknown): Promise<void>;

  /** @internal Whether {@link close} has begun, also by a {@link shutdown}. */
  get _isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** @internal */
  _refuseIfClosed(): void {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    this._store.refuseIfClosed();
  }
}
