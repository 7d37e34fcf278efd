/**
 * How a primitive ends: `close` for all of them; `drain` and `shutdown` for those that grant permits.
 *
 * Invariant: a primitive ends once, permanently, and refuses every later request with the same reason.
 */

import { asyncDispose } from './dispose.js';
import { cancelledError, closedError, detached, notIdle, TimeoutError } from './errors.js';
import { checkWaitOptions, type WaitOptions } from './options.js';
import { readRequest, WaitQueue, type WaitRequest } from './wait/queue.js';

/** @internal How a primitive ended: with an error, or without one. */
export interface Ending {
  readonly reason: unknown;
  readonly failed: boolean;
}

/** What can be closed once, with a reason or without. */
export abstract class Closable {
  /** @internal Declared and not defined, as in a permit: to define fields takes time for each key of a `Keyed`. */
  declare _ending: Ending | undefined;
  /** @internal What the messages of its errors begin with. */
  readonly _label: string;

  /** @internal */
  constructor(label: string) {
    this._label = label;
  }

  /** Whether all requests are refused: true from the first call that ends the primitive on. */
  get closed(): boolean {
    return this._ending !== undefined;
  }

  /**
   * Closes the primitive: rejects waiting requests and refuses new ones with `reason`, by default a `ClosedError`. A
   * second call does nothing.
   *
   * Values that were sent before can still be received. After the last of them, receivers are refused, and iterators
   * end, or throw the reason if one was given.
   */
  close(reason?: unknown): void {
    if (!(this instanceof Closable)) throw detached('close');
    if (this._ending) return;
    const failed = reason !== undefined;
    const ending = { reason: failed ? reason : closedError(this._label), failed };
    this._end(ending);
    this._dismiss(ending.reason);
  }

  /** @internal Refuses all requests from now on. */
  _end(ending: Ending): void {
    this._ending = ending;
  }

  /** @internal Throws how it has ended, if it has. */
  _refuse(_request?: WaitRequest): void {
    if (this._ending) throw this._ending.reason;
  }

  /** @internal Sends those away who wait. */
  abstract _dismiss(reason: unknown): void;
}

/** What hands out permits, and is idle when all have come back and nobody waits. */
export abstract class Drainable extends Closable {
  #drains: WaitQueue<void> | undefined;
  /** @internal Whether anybody wants to know when it becomes idle. */
  declare _watched: boolean | undefined;
  /** @internal Called when it is idle, for whoever made it. */
  declare _onIdle: (() => void) | undefined;

  /** Whether nothing is held and nobody waits. */
  abstract get idle(): boolean;

  /** The number of requests that wait. */
  abstract get waiting(): number;

  /** @internal The number of permits that are held. */
  abstract get _active(): number;

  /**
   * Waits until nothing is held and no request waits. New requests are still accepted; {@link shutdown} refuses
   * them. Rejects with the signal's reason, or with a `TimeoutError` that says how many permits are held and how many
   * requests wait.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(2);
   * const permit = await semaphore.acquire();
   * setTimeout(() => permit.release(), 1);
   * await semaphore.drain();
   * console.log(permit.released); // true
   * ```
   */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Drainable)) throw detached('drain');
    await this._waitUntilIdle(options);
  }

  /**
   * Shuts down gracefully: refuses new requests with a `ClosedError`, serves all waiting requests, and resolves when
   * nothing is held and no request waits. Permits that are held stay valid until they are released.
   *
   * `timeout` and `signal` bound only the wait of this call. When the timeout elapses, the promise rejects with a
   * `TimeoutError` that says how many permits are held and how many requests wait; when the signal aborts, it rejects
   * with the signal's reason. The primitive then stays closed and continues to serve its queue; {@link close} rejects
   * the requests that still wait. A second call waits in the same way.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(1);
   * const runs = ['a', 'b'].map((name) => semaphore.run(async () => name));
   * const finished = semaphore.shutdown({ timeout: 10_000 });
   * await semaphore.acquire().catch((error) => console.log(error.name)); // ClosedError
   * await finished;
   * console.log(await Promise.all(runs)); // [ 'a', 'b' ]
   * ```
   */
  async shutdown(options: WaitOptions = {}): Promise<void> {
    if (!(this instanceof Drainable)) throw detached('shutdown');
    checkWaitOptions(options);
    if (!this._ending) this._end({ reason: closedError(this._label), failed: false });
    await this._waitUntilIdle(options);
  }

  /**
   * Closes at once: rejects all waiting requests and refuses new ones with `reason`, by default a `ClosedError`. Permits
   * that are held stay valid until they are released. A further call does nothing.
   *
   * After a {@link shutdown} it rejects the requests that still wait with `reason`. New requests are refused with the
   * `ClosedError` of the shutdown as before.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(1);
   * using permit = await semaphore.acquire();
   * const waiter = semaphore.acquire();
   * semaphore.close(new Error('going home'));
   * await waiter.catch((error) => console.log(error.message)); // going home
   * ```
   */
  override close(reason?: unknown): void {
    if (!(this instanceof Drainable)) throw detached('close');
    if (this._ending) this._dismiss(reason === undefined ? this._ending.reason : reason);
    else super.close(reason);
  }

  /**
   * Sends all waiters away with `reason`, and goes on: who comes later may wait again. By default the reason is
   * the platform's `AbortError`, as if the signals of all had aborted. Whatever is held stays valid, and
   * {@link drain} goes on waiting for it.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(1);
   * using permit = await semaphore.acquire();
   * const waiter = semaphore.acquire();
   * semaphore.cancel();
   * await waiter.catch((error) => console.log(error.name)); // AbortError
   * console.log(semaphore.closed); // false
   * ```
   */
  cancel(reason?: unknown): void {
    if (!(this instanceof Drainable)) throw detached('cancel');
    this._dismiss(reason === undefined ? cancelledError(this._label) : reason);
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  /**
   * @internal Separate from `drain`, because diagnostics may wrap that one. Not a private method, because a private
   * method costs time for each key of a `Keyed`.
   */
  async _waitUntilIdle(options: WaitOptions | undefined): Promise<void> {
    const request = readRequest(options);
    if (this.idle) return;
    this.#drains ??= new WaitQueue(this._label);
    this._watched = true;
    try {
      await this.#drains.insert(request);
    } catch (error) {
      if (!(error instanceof TimeoutError) || error === request.signal?.reason) throw error;
      throw notIdle(request.timeout as number, this._label, this._active, this.waiting);
    }
  }

  /** @internal Called whenever a watched one has become idle. */
  _idled(): void {
    this.#drains?.resolveAll();
    this._onIdle?.();
  }
}
