/**
 * Ending, which all primitives that can be closed have in common; and coming to rest, for those that hand out permits.
 *
 * Invariant: it is closed once, for good, and whoever is refused from then on is told the same reason.
 */

import { asyncDispose } from './dispose.js';
import { cancelledError, closedError } from './errors.js';
import type { WaitOptions } from './options.js';
import { readRequest, WaitQueue, type WaitRequest } from './queue.js';

/** How it ended: with an error, or only because no more comes. */
interface Ending {
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

  /** Whether {@link close} has been called. */
  get closed(): boolean {
    return this._ending !== undefined;
  }

  /**
   * Ends it for good: sends all waiters away and refuses all requests from now on, with `reason`; by default a
   * `ClosedError`. A second call does nothing.
   *
   * What is held stays valid until it is released. What was sent before can still be received; only then are receivers
   * told, and iterators end, or throw the reason if one is given.
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
  close(reason?: unknown): void {
    if (this._ending) return;
    const failed = reason !== undefined;
    this._ending = { reason: failed ? reason : closedError(this._label), failed };
    this._dismiss(this._ending.reason);
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

  /**
   * Waits until nothing is held and nobody waits. It keeps nobody from coming in meanwhile or
   * afterwards: to shut down, {@link close} first.
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
    const request = readRequest(options);
    if (this.idle) return;
    this.#drains ??= new WaitQueue(this._label);
    this._watched = true;
    await this.#drains.insert(request);
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
  cancel(reason: unknown = cancelledError(this._label)): void {
    this._dismiss(reason);
  }

  /** Closes it and waits until all that is held has come back: what `await using` calls. */
  [asyncDispose](): Promise<void> {
    this.close();
    return this.drain();
  }

  /** @internal Called whenever a watched one has become idle. */
  _idled(): void {
    this.#drains?.resolveAll();
    this._onIdle?.();
  }
}
