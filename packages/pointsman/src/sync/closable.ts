/**
 * How a primitive ends: `close` for all primitives; `drain`, `shutdown` and `cancel` for those that grant permits.
 *
 * Invariant: a primitive ends once, permanently, and refuses every later request with the same reason.
 */

import { asyncDispose } from './dispose.js';
import { cancelledError, closedError, detached, notIdle } from './errors.js';
import { checkWaitOptions, type WaitOptions } from './options.js';
import { winContest } from './wait/give-up.js';
import { readWait, WaitQueue } from './wait/queue.js';

/** @internal How a primitive ended: with an error, or without one. */
export interface Ending {
  readonly reason: unknown;
  readonly failed: boolean;
}

/** A primitive that can be closed once, with or without a reason. */
export abstract class Closable {
  /** @internal Declared, not defined: to define a field takes time for each key of a `Keyed`. */
  declare _ending: Ending | undefined;
  /** @internal The prefix for error messages. */
  readonly _label: string;

  /** @internal */
  constructor(label: string) {
    this._label = label;
  }

  /** Whether the primitive is closed or shut down: new requests are refused. */
  get closed(): boolean {
    return this._ending !== undefined;
  }

  /**
   * Rejects waiting requests, and new ones from now on, with `reason`, by default a `ClosedError`. A second call does
   * nothing.
   *
   * Values that were sent before can still be received. Then receivers reject, and iterators end, or throw the reason if
   * one was given.
   */
  close(reason?: unknown): void {
    if (!(this instanceof Closable)) throw detached('close');
    if (!this._ending) this._dismiss(this._end(reason).reason);
  }

  /** @internal Refuses all requests from now on. */
  _end(reason?: unknown): Ending {
    const failed = reason !== undefined;
    this._ending = { reason: failed ? reason : closedError(this._label), failed };
    return this._ending;
  }

  /** @internal Throws the reason for which the primitive ended, if it has. */
  _refuse(): void {
    if (this._ending) throw this._ending.reason;
  }

  /** @internal Rejects all waiting requests. */
  abstract _dismiss(reason: unknown): void;
}

/** A primitive that grants permits. */
export abstract class Drainable extends Closable {
  /** @internal Declared, not defined, as `_ending`. */
  declare _drains: WaitQueue<void> | undefined;
  /** @internal Called when this primitive becomes idle. Set by the primitive that contains this one. */
  declare _onIdle: (() => void) | undefined;

  /** Whether no permit is held and no request waits. */
  abstract get idle(): boolean;

  /** The number of waiting requests. */
  abstract get waiting(): number;

  /** @internal The number of permits that are held. */
  abstract get _active(): number;

  /**
   * Waits until no permit is held and no request waits. New requests are still accepted; see {@link shutdown}. The
   * `TimeoutError` says how many permits are held and how many requests wait.
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
   * Shuts down gracefully: refuses new requests with a `ClosedError`, serves the waiting ones, and resolves when no
   * permit is held and no request waits.
   *
   * `timeout` and `signal` bound only this wait; the `TimeoutError` says how many permits are held and how many requests
   * wait. The primitive then stays closed and continues to serve its queue, unless {@link close} rejects the requests
   * that still wait. A second call waits in the same way.
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
    if (!this._ending) this._end();
    await this._waitUntilIdle(options);
  }

  /**
   * Closes at once: rejects waiting requests, and new ones from now on, with `reason`, by default a `ClosedError`. Held
   * permits stay valid until they are released. A second call does nothing.
   *
   * After a {@link shutdown} it rejects the requests that still wait with `reason`; new ones are still refused with the
   * `ClosedError` of the shutdown.
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
    super.close(reason);
    // After a `shutdown`, `super.close` does nothing.
    this._dismiss(reason === undefined ? this._ending?.reason : reason);
  }

  /**
   * Rejects all waiting requests with `reason`, by default an `AbortError`. The primitive stays open, held permits stay
   * valid, and a pending {@link drain} waits for them.
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

  /** @internal Not `drain`, which diagnostics may wrap; not private, which costs time for each key of a `Keyed`. */
  async _waitUntilIdle(options: WaitOptions | undefined): Promise<void> {
    const request = readWait(options);
    if (this.idle) return winContest(request.signal);
    this._drains ??= new WaitQueue(this._label);
    await this._drains.insert(request, undefined, (timeout) =>
      notIdle(timeout, this._label, this._active, this.waiting),
    );
  }

  /** @internal Called each time the primitive has become idle. */
  _idled(): void {
    this._drains?.resolveAll();
    this._onIdle?.();
  }
}
