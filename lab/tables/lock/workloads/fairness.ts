/** Measures beside a rate or a time: the slowest waits, and how evenly the turns were shared. */
import { quantileSorted, sum } from 'simple-statistics';

/** Jain's index: 1 if all had the same number of turns, 1 / n if one of n had all turns. */
export function fairness(turns: readonly number[]): number {
  const squares = sum(turns.map((count) => count * count));
  return squares === 0 ? Number.NaN : sum([...turns]) ** 2 / (turns.length * squares);
}

/** The wait that 1 % of the turns exceeded, and the longest, in milliseconds. */
export function slowestWaits(waits: Float64Array): {
  readonly p99: number;
  readonly longest: number;
} {
  if (waits.length === 0) throw new Error('took no turn while it was measured');
  const sorted = waits.slice().sort() as unknown as number[];
  return { p99: quantileSorted(sorted, 0.99), longest: quantileSorted(sorted, 1) };
}
