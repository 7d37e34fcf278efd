/**
 * The reserved spaces of a bounded queue, one for each resolved caller of `waitForSpace`.
 *
 * Invariant: a space is reserved until the next request is made or the `await` of the caller has continued. No other
 * caller of `waitForSpace` gets it meanwhile.
 */

/** Microtasks until the `await` of a resolved caller has continued, even through a few nested async functions. */
const MICROTASKS = 8;

export class Reservations {
  readonly #countRequests: () => number;
  readonly #freed: () => void;
  #made = 0;
  #over = 0;
  /** The number of requests at the last count. */
  #requests = 0;

  /** `countRequests`: how many requests were made so far. `freed`: called after a reservation is over. */
  constructor(countRequests: () => number, freed: () => void) {
    this.#countRequests = countRequests;
    this.#freed = freed;
  }

  /** The number of reserved spaces. Each request made since the last count ends one reservation. */
  get count(): number {
    const requests = this.#countRequests();
    this.#over = Math.min(this.#made, this.#over + requests - this.#requests);
    this.#requests = requests;
    return this.#made - this.#over;
  }

  /** Reserves a space for a caller that is resolved now. */
  async add(): Promise<void> {
    const number = ++this.#made;
    for (let n = 0; n < MICROTASKS; n++) await null;
    this.#over = Math.max(number, this.#made - this.count);
    this.#freed();
  }
}
