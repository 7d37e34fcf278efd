/** What came of a fault: the same shape for one trial and for all of them together. */
import type { Kind } from './judge.js';

export interface Found {
  readonly kind: Kind;
  /** What happened, who took part, and what was done to them around that time. */
  readonly trace: string;
}

export interface Outcome {
  readonly violations: readonly Found[];
  /** What the fault excuses, such as two holders when a server has lost its data. */
  readonly excused: readonly Found[];
  /** Critical sections. */
  readonly entered: number;
  /** Hand-outs whose lock ended while the process stood still before its first step. */
  readonly overtaken: number;
  readonly staleWritesRefused: number;
  /** In milliseconds. */
  readonly longestWait: number;
  /** lock() and release() that rejected, by error. */
  readonly rejected: Readonly<Record<string, number>>;
  /** How often what was done. */
  readonly counts: Readonly<Record<string, number>>;
  /** Times in milliseconds. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
}

export function together(outcomes: readonly Outcome[]): Outcome {
  return {
    violations: outcomes.flatMap(({ violations }) => violations),
    excused: outcomes.flatMap(({ excused }) => excused),
    entered: outcomes.reduce((sum, { entered }) => sum + entered, 0),
    overtaken: outcomes.reduce((sum, { overtaken }) => sum + overtaken, 0),
    staleWritesRefused: outcomes.reduce((sum, outcome) => sum + outcome.staleWritesRefused, 0),
    longestWait: Math.max(0, ...outcomes.map(({ longestWait }) => longestWait)),
    rejected: summed(outcomes.map(({ rejected }) => rejected)),
    counts: summed(outcomes.map(({ counts }) => counts)),
    samples: joined(outcomes.map(({ samples }) => samples)),
  };
}

export function summed(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const one of all) {
    for (const [name, count] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}

function joined(
  all: readonly Readonly<Record<string, readonly number[]>>[],
): Record<string, number[]> {
  const lists: Record<string, number[]> = {};
  for (const one of all) {
    for (const [name, list] of Object.entries(one)) {
      lists[name] = [...(lists[name] ?? []), ...list];
    }
  }
  return lists;
}
