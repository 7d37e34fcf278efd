/**
 * What a semaphore grants. Invariant: whatever a permit stands for goes back exactly once.
 */

import { dispose } from '../dispose.js';
import { inJavaScriptCore } from '../wait/queue.js';

/** Who gave a permit, and takes it back. */
interface Issuer {
  _giveBack(permits: number): void;
}

/**
 * The right to be inside, as {@link Semaphore.acquire} grants it. It gives its permits back exactly
 * once: by {@link release} or at the end of a `using` block, whichever comes first.
 *
 * Only a semaphore makes permits. Its form makes it nearly free:
 * - The constructor can answer with a promise of the new permit. In there V8 knows the permit's shape
 *   and fulfils the promise without searching the permit for a `then`: less than half of the time for
 *   the pair.
 * - The fields are declared, not defined: a class field or a `#private` name would cost time in each
 *   contended acquire.
 */
export class Permit {
  /** @internal Undefined once the permits have gone back. */
  declare _issuer: Issuer | undefined;
  /** How many permits this one stands for. */
  declare readonly permits: number;

  /** @internal */
  constructor(issuer: Issuer, permits: number, promised?: boolean) {
    this._issuer = issuer;
    this.permits = permits;
    // biome-ignore lint/correctness/noConstructorReturn: explained above, and only internal
    if (promised) return Promise.resolve(this) as never;
  }

  /** Whether the permits have gone back. */
  get released(): boolean {
    return !this._issuer;
  }

  /**
   * Gives the permits back. A second call does nothing, whoever holds them by then.
   *
   * It needs no object to be called on, so it can be passed on as it is: `.finally(permit.release)`,
   * `emitter.once('close', permit.release)`. Each time it is read it is another function.
   */
  get release(): () => void {
    return this._giveBack.bind(this);
  }

  /** The same as {@link release}; what `using` calls. */
  [dispose](): void {
    this._giveBack();
  }

  /**
   * @internal A method, and not a function beside the class: engines know what a prototype holds, and so make
   * `permit.release()` as fast as a call of this.
   */
  _giveBack(): void {
    const issuer = this._issuer;
    if (issuer) {
      this._issuer = undefined;
      issuer._giveBack(this.permits);
    }
  }
}

/** In V8 the resolve function's search for a `then` ends at its first step. */
class V8HandedPermit extends Permit {
  constructor(issuer: Issuer, permits: number) {
    super(issuer, permits);
    // biome-ignore lint/suspicious/noThenProperty: undefined, so that nobody takes it for a promise
    (this as { then?: undefined }).then = undefined;
  }
}

/** @internal A permit for a waiter. JavaScriptCore is faster where there is no `then` at all. */
export const HandedPermit = inJavaScriptCore ? Permit : V8HandedPermit;
