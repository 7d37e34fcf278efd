/** The permit that a primitive grants. Invariant: what a permit stands for is given back exactly once. */

import { dispose } from '../dispose.js';
import { inJavaScriptCore } from '../wait/queue.js';

/** An object that grants permits, and to which they are released. */
interface Issuer {
  _giveBack(permits: number): void;
}

/**
 * One permit or several, as {@link Semaphore.acquire} grants them. Given back exactly once, by {@link release} or at the
 * end of a `using` block.
 *
 * Two properties make permits cheap:
 * - The constructor can return a promise of the new permit. There V8 knows the permit's shape and does not look up
 *   `then` on it: the pair takes less than half of the time.
 * - The fields are declared, not defined: a class field or `#private` name costs time in each contended acquire.
 */
export class Permit {
  /** @internal Undefined once the permits are given back. */
  declare _issuer: Issuer | undefined;
  /** The number of permits that this one stands for. */
  declare readonly permits: number;

  /** @internal */
  constructor(issuer: Issuer, permits: number, promised?: boolean) {
    this._issuer = issuer;
    this.permits = permits;
    // biome-ignore lint/correctness/noConstructorReturn: explained above, and only internal
    if (promised) return Promise.resolve(this) as never;
  }

  /** Whether the permits are given back. */
  get released(): boolean {
    return !this._issuer;
  }

  /**
   * Gives the permits back; a second call does nothing. It is bound, so it can be a callback:
   * `emitter.once('close', permit.release)`. Each read returns a new function.
   */
  get release(): () => void {
    return this._giveBack.bind(this);
  }

  /** Releases the permit at the end of a `using` block. */
  [dispose](): void {
    this._giveBack();
  }

  /** @internal A method: engines optimize the bound method of a known prototype as well as a direct call. */
  _giveBack(): void {
    const issuer = this._issuer;
    if (issuer) {
      this._issuer = undefined;
      issuer._giveBack(this.permits);
    }
  }
}

/** In V8 the resolve function's lookup of `then` ends at an own property. */
class V8HandedPermit extends Permit {
  constructor(issuer: Issuer, permits: number) {
    super(issuer, permits);
    // biome-ignore lint/suspicious/noThenProperty: undefined, so a permit is no thenable
    (this as { then?: undefined }).then = undefined;
  }
}

/** @internal A permit for a waiter. JavaScriptCore is faster without a `then` property. */
export const HandedPermit = inJavaScriptCore ? Permit : V8HandedPermit;

/** @internal Not an async function: that takes longer with a permit that is granted at once. */
export function runWith<T, Held extends Permit>(
  granted: Held | Promise<Held>,
  fn: (permit: Held) => T | PromiseLike<T>,
): Promise<T> {
  if (!(granted instanceof Permit)) return granted.then((permit) => runWith(permit, fn));
  let result: Promise<T>;
  try {
    result = Promise.resolve(fn(granted));
  } catch (error) {
    result = Promise.reject(error);
  }
  return result.then(
    (value) => {
      granted._giveBack();
      return value;
    },
    (error) => {
      granted._giveBack();
      throw error;
    },
  );
}
