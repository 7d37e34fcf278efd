/** The permits of a shared limiter. */

import { dispose } from '../../sync/dispose.js';
import { detached } from '../../sync/errors.js';
import type { Weight } from '../../sync/limiter/rules.js';
import type { StartGroup } from '../protocol/starts.js';

/** What grants permits. */
interface Issuer {
  released(): void;
  settle(start: Start, actual: Weight): void;
}

/** A start that the store has granted; without groups, one that needed no grant. */
export interface Start {
  readonly groups: readonly StartGroup[];
  readonly at: readonly number[];
  weight: Weight;
}

/**
 * A request that has started, as {@link SharedLimiter.acquire} grants it. Release it when the work has ended, by
 * `release` or at the end of a `using` block; `drain` and `shutdown` wait for that. What it used of the rates comes back
 * only with time.
 */
export class SharedPermit {
  #issuer: Issuer | undefined;
  readonly #granter: Issuer;
  readonly #start: Start;
  #onRelease: (() => void) | undefined;

  /** @internal */
  constructor(issuer: Issuer, start: Start) {
    this.#issuer = issuer;
    this.#granter = issuer;
    this.#start = start;
  }

  /** Calls a function when the permit is released. */
  _onRelease(release: () => void): void {
    this.#onRelease = release;
  }

  /** @internal Whether the store has granted it. */
  get _isGranted(): boolean {
    return this.#start.groups.length > 0;
  }

  /** Whether {@link release} has been called. */
  get released(): boolean {
    return this.#issuer === undefined;
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
    const issuer = this.#issuer;
    if (issuer === undefined) return;
    this.#issuer = undefined;
    this.#onRelease?.();
    issuer.released();
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
    this.#granter.settle(this.#start, actual);
  }
}
