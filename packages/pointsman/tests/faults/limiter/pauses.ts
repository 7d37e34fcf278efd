/** How long a process got no turn, as its log shows. */
import type { Line } from './log.js';

/** A process under load writes a line more often than this, in nanoseconds. */
const turn = 5e6;
/** How far back a pause can matter, in nanoseconds. */
const span = 1e9;

const timesOf = (line: Line): readonly number[] => {
  if (line.kind === 'start' || line.kind === 'end') return [line.at];
  if (line.kind === 'grant') return [line.sent, line.received];
  return [];
};

export class Pauses {
  readonly #times: Float64Array;
  /** The total of the pauses until each of the times. */
  readonly #totals: Float64Array;

  constructor(lines: readonly Line[]) {
    this.#times = Float64Array.from(lines.flatMap(timesOf)).sort();
    let total = 0;
    this.#totals = this.#times.map((time, i) => {
      const gap = time - (this.#times[i - 1] ?? time);
      if (gap > turn) total += gap;
      return total;
    });
  }

  /** Returns the total of the pauses in the second before a time, in nanoseconds. */
  before(at: number): number {
    const total = (time: number): number => this.#totals[this.#indexOf(time)] ?? 0;
    return total(at) - total(at - span);
  }

  /** Returns when the first pause of at least `length` nanoseconds began that ended after a time. */
  next(at: number, length: number): number {
    for (let i = Math.max(1, this.#indexOf(at) + 1); i < this.#times.length; i++) {
      const from = this.#times[i - 1] as number;
      if ((this.#times[i] as number) - from >= length) return from;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** The index of the last time that is not later. */
  #indexOf(at: number): number {
    let low = 0;
    let high = this.#times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#times[middle] as number) <= at) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
