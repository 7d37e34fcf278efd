/** The law at the moments of starts, in microseconds of the store's clock. */
import type { Violation } from '../judge.js';
import type { Rate } from './plans.js';

export interface Entry {
  readonly at: number;
  readonly weight: number;
  /** When the store was asked for it, in nanoseconds of the machine's clock. */
  readonly sent: number;
  /** The number of times that the store had lost its state by then. */
  readonly epoch: number;
}

/** Weight that was added when the store acknowledged it. */
export interface Added {
  readonly at: number;
  readonly weight: number;
  readonly received: number;
}

export interface JudgedWindows {
  readonly violations: readonly Violation[];
  readonly windows: number;
  readonly forgotten: number;
}

const within = (ms: number): number => ms * 1000;

/** Judges the window that ends at each start. `width`: by how much the moments are uncertain. */
export function judgeWindows(
  limiter: string,
  { name, limit, per }: Rate,
  entries: readonly Entry[],
  added: readonly Added[],
  width: number,
): JudgedWindows {
  const violations: Violation[] = [];
  const length = within(per) - width;
  const epochs = new Set(entries.map(({ epoch }) => epoch));
  for (const epoch of epochs) {
    // What the store has forgotten is not in its windows.
    const known = entries.filter((entry) => entry.epoch === epoch);
    for (const { entry, sum } of sums(known, length)) {
      const more = added.filter(
        ({ at, received }) =>
          received <= entry.sent && at > entry.at - length && at <= entry.at && epochs.size === 1,
      );
      const total = more.reduce((all, { weight }) => all + weight, sum);
      if (total <= limit) continue;
      const text = `a window of ${name} of ${limiter} has ${total} of ${limit}`;
      violations.push({ kind: 'above the limit', at: entry.sent, text });
    }
  }
  const forgotten = epochs.size > 1 ? sums(entries, length).filter(({ sum }) => sum > limit) : [];
  return { violations, windows: entries.length, forgotten: forgotten.length };
}

function sums(entries: readonly Entry[], length: number): { entry: Entry; sum: number }[] {
  const sorted = entries.toSorted((one, other) => one.at - other.at);
  let first = 0;
  let sum = 0;
  return sorted.map((entry) => {
    sum += entry.weight;
    while ((sorted[first] as Entry).at <= entry.at - length) {
      sum -= (sorted[first] as Entry).weight;
      first += 1;
    }
    return { entry, sum };
  });
}

/** Replays a bucket, full at the beginning and after each loss of the state. */
export function judgeBucket(name: string, rate: Rate, entries: readonly Entry[]): Violation[] {
  const { burst = 0, limit, per } = rate;
  const violations: Violation[] = [];
  const interval = within(per) / limit;
  /** When each of the epochs would be full again. */
  const full = new Map<number, number>();
  for (const { at, weight, sent, epoch } of entries.toSorted((one, other) => one.at - other.at)) {
    const edge = Math.max(full.get(epoch) ?? 0, at) + weight * interval;
    full.set(epoch, edge);
    if (edge - at <= burst * interval + 1) continue;
    const text = `${name} has ${((edge - at) / interval).toFixed(2)} of a burst of ${burst}`;
    violations.push({ kind: 'above the limit', at: sent, text });
  }
  return violations;
}
