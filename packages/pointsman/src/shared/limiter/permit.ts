/** The permits of a shared limiter. */

import { dispose } from '../../sync/dispose.js';
import { detached } from '../../sync/errors.js';
import type { Weight } from '../../sync/limiter/rules.js';
import type { Grant } from './decisions.js';

/** What grants permits. */
interface Issuer {
  released(start: Start): void;
  settle(start: Start, actual: Weight): void;
}

/** A start; without a grant, one that needed none. */
export interface Start {
  readonly grant: Grant | undefined;
  weight: Weight;
  /** Its concurrency. */
  readonly slot?: { leave(): void } | undefined;
  /** What it took of this process's share of the limits, because the store did not decide. */
  readonly local?: { release: () => void; settle(actual: Weight): void } | undefined;
}

/**
 * A request that has started, as {@link SharedLimiter.acquire} grants it. Release it when the work has ended, by
 * `release` or at the end of a `using` block; `drain` and `shutdown` wait for that. Its concurrency is then free. Its start
 * counts until the window has passed. After {@link SharedLimiter.close} a permit no longer holds concurrency.
 */
export class SharedPermit {
  readonly #issuer: Issuer;
  readonly #start: Start;
  #released = false;

  /** @internal */
  constructor(issuer: Issuer, start: Start) {
    this.#issuer = issuer;
    this.#start = start;
  }

  /** Whether {@link release} has been called. */
  get released(): boolean {
    return this.#released;
  }

  /**
   * Ends the permit and frees its concurrency. Never throws; a second call does nothing. It is bound, so it can be passed
   * as a callback.
   */
  get release(): () => void {
    return () => this._giveBack();
  }

  /** Releases the permit at the end of a `using` block. */
  [dispose](): void {
    this._giveBack();
  }

  /** @internal */
  _giveBack(): void {
    if (this.#released) return;
    this.#released = true;
    this.#issuer.released(this.#start);
  }

  /**
   * Corrects the weight of this start, for example when a language model has told how many tokens a request took. What
   * was reserved too much comes back at once. What was reserved too little counts from now on, even beyond the limit; the
   * next requests wait for it. A further call corrects the earlier one, also after the release; but what a call has added
   * comes back only with time, even if a later one takes it away. Changes only the rates, not the concurrency. Sent to the
   * store without waiting; after `close` it has no effect.
   *
   * @throws {RangeError | TypeError} unless `actual` is a weight: an integer from 0 on, or a record of them by name.
   */
  settle(actual: Weight): void {
    if (!(this instanceof SharedPermit)) throw detached('settle');
    this.#issuer.settle(this.#start, actual);
  }
}
