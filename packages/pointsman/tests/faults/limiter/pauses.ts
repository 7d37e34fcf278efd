/** How long a process got no turn, as it noticed itself. */
import type { Line, Pause } from './log.js';

/** How far back a pause can matter, in nanoseconds. */
const span = 1e9;

export class Pauses {
  /** In their order. */
  readonly #all: readonly Pause[];

  constructor(lines: readonly Line[]) {
    this.#all = lines.filter((line) => line.kind === 'pause');
  }

  /** Returns the total of the pauses in the second before a time, in nanoseconds. */
  before(at: number): number {
    let total = 0;
    for (let i = this.#indexAfter(at - span); i < this.#all.length; i++) {
      const { from, until } = this.#all[i] as Pause;
      if (from >= at) break;
      total += Math.min(until, at) - Math.max(from, at - span);
    }
    return total;
  }

  /** Returns when the first pause of at least `length` nanoseconds began that ended after a time. */
  next(at: number, length: number): number {
    for (let i = this.#indexAfter(at); i < this.#all.length; i++) {
      const { from, until } = this.#all[i] as Pause;
      if (until - from >= length) return from;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Returns the total between two times. */
  between(from: number, until: number): number {
    return this.#all.reduce(
      (sum, pause) => sum + Math.max(0, Math.min(until, pause.until) - Math.max(from, pause.from)),
      0,
    );
  }

  /** The index of the first pause that ended after a time. */
  #indexAfter(at: number): number {
    let low = 0;
    let high = this.#all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#all[middle] as Pause).until <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
