/** Detects the keys that are requested often, among any number of keys. */

/** The number of requests within `period` that make a key hot. */
export const HOT = 3;

export class HotKeys {
  /** The requests of each key in this period, and in the one before. */
  #counts = new Map<string | undefined, number>();
  #earlier = new Map<string | undefined, number>();
  #ends = 0;

  /** Counts requests of a key. Returns whether it is hot. `period`: milliseconds. */
  add(key: string | undefined, period: number, requests = 1): boolean {
    const now = performance.now();
    if (now >= this.#ends) {
      this.#earlier = now < this.#ends + period ? this.#counts : new Map();
      this.#counts = new Map();
      this.#ends = now + period;
    }
    const count = (this.#counts.get(key) ?? 0) + requests;
    this.#counts.set(key, count);
    return count + (this.#earlier.get(key) ?? 0) >= HOT;
  }
}
