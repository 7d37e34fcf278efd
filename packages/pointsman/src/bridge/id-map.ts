/**
 * What is kept by a number that grows: of the calls under way, who waits for the answer.
 *
 * A `Map` does that too, but begins a new table every few hundred calls, and V8 lets the one before refer to it.
 * As soon as one such table has become old, it keeps all later ones alive with everything that they held
 * until the next full collection. Measured with 256 tasks under way: 4 of 13 MB survived each young
 * collection, which took 5 ms in place of 0.4.
 *
 * Invariant: a table of a power of two, at most half full. Each entry lies at the home of its number, or after
 * it with no free place between. Multiples of the golden ratio, which homes are, leave gaps between numbers
 * that follow one another, so hardly any entry is looked for.
 */

const FREE = -1;
const LEAST_BITS = 4;
const LEAST = 1 << LEAST_BITS;
/** Places that an empty table may have; one that was large once gives its memory back. */
const MOST_KEPT = 1 << 12;
/** 2 ** 32 over the golden ratio. */
const GOLDEN = 0x9e3779b1;

export class IdMap<Value> {
  size = 0;
  #shift = 32 - LEAST_BITS;
  #ids = new Array<number>(LEAST).fill(FREE);
  #values = new Array<Value | undefined>(LEAST).fill(undefined);

  get(id: number): Value | undefined {
    return this.#values[this.#placeOf(id)];
  }

  has(id: number): boolean {
    return this.#ids[this.#placeOf(id)] === id;
  }

  /** `id`: an integer from 0 on. */
  set(id: number, value: Value): void {
    const place = this.#placeOf(id);
    if (this.#ids[place] !== id) {
      if (2 * (this.size + 1) > this.#ids.length) {
        this.#grow();
        this.set(id, value);
        return;
      }
      this.size++;
      this.#ids[place] = id;
    }
    this.#values[place] = value;
  }

  /** Whether it was there. */
  delete(id: number): boolean {
    const ids = this.#ids;
    const values = this.#values;
    const mask = ids.length - 1;
    let free = this.#placeOf(id);
    if (ids[free] !== id) return false;
    this.size--;
    // What lies behind it and belongs before moves up.
    for (let place = (free + 1) & mask; ids[place] !== FREE; place = (place + 1) & mask) {
      const other = ids[place] as number;
      if (((place - this.#homeOf(other)) & mask) < ((place - free) & mask)) continue;
      ids[free] = other;
      values[free] = values[place];
      free = place;
    }
    ids[free] = FREE;
    values[free] = undefined;
    if (this.size === 0 && ids.length > MOST_KEPT) this.clear();
    return true;
  }

  clear(): void {
    this.size = 0;
    this.#shift = 32 - LEAST_BITS;
    this.#ids = new Array<number>(LEAST).fill(FREE);
    this.#values = new Array<Value | undefined>(LEAST).fill(undefined);
  }

  /** Those that are there now. */
  ids(): number[] {
    return this.#ids.filter((id) => id !== FREE);
  }

  #homeOf(id: number): number {
    return Math.imul(id, GOLDEN) >>> this.#shift;
  }

  /** Where it is, or would be. */
  #placeOf(id: number): number {
    const ids = this.#ids;
    const mask = ids.length - 1;
    let place = this.#homeOf(id);
    while (ids[place] !== id && ids[place] !== FREE) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const ids = this.#ids;
    const values = this.#values;
    this.#ids = new Array<number>(2 * ids.length).fill(FREE);
    this.#values = new Array<Value | undefined>(2 * ids.length).fill(undefined);
    this.#shift--;
    this.size = 0;
    for (const [place, id] of ids.entries()) {
      if (id !== FREE) this.set(id, values[place] as Value);
    }
  }
}
