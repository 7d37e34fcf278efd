/** The permits of a shared limiter. */

import { dispose } from '../../sync/dispose.js';
import { detached } from '../../sync/errors.js';
import type { Weight } from '../../sync/limiter/rules.js';

/** Corrects what a start has used, once its real weight is known. */
export type Settle = (actual: Weight) => void;

/**
 * A request that has started, as {@link SharedLimiter.acquire} grants it. Release it when the work has ended, by
 * `release` or at the end of a `using` block; `drain` and `shutdown` wait for that. What it used of the rates comes back
 * only with time.
 */
export class SharedPermit {
  #end: (() => void) | undefined;
  readonly #settle: Settle;

  /** @internal */
  constructor(end: () => void, settle: Settle) {
    this.#end = end;
    this.#settle = settle;
  }

  /** Calls another function when the permit is released. */
  _onRelease(release: () => void): void {
    const end = this.#end;
    this.#end = () => {
      release();
      end?.();
    };
  }

  /** Whether {@link release} has been called. */
  get released(): boolean {
    return this.#end === undefined;
  }

  /** Tells that the work has ended; a second call does nothing. It is bound, so it can be a callback. */
  get release(): () => void {
    return () => this._giveBack();
  }

  /** Releases the permit at the end of a `using` block. */
  [dispose](): void {
    this._giveBack();
  }

  /** @internal */
  _giveBack(): void {
    const end = this.#end;
    this.#end = undefined;
    end?.();
  }

  /**
   * Corrects the weight of this start, for example when a language model has told how many tokens a request took. What
   * was reserved too much comes back at once. What was reserved too little counts from now on, even beyond the limit; the
   * next requests wait for it. A further call corrects the earlier one.
   *
   * @throws {RangeError | TypeError} unless `actual` is a weight: an integer from 0 on, or a record of them by name.
   */
  settle(actual: Weight): void {
    if (!(this instanceof SharedPermit)) throw detached('settle');
    this.#settle(actual);
  }
}
