/** The outcome of a fault, in the same form for one trial and for all trials together. */
import type { Kind } from './judge.js';

export interface Found {
  readonly kind: Kind;
  /** What happened, which processes took part, and what was done to them around that time. */
  readonly trace: string;
}

export interface Outcome {
  readonly violations: readonly Found[];
  /** Violations that the fault excuses, such as two holders after a server lost its data. */
  readonly excused: readonly Found[];
  /** Critical sections. */
  readonly entered: number;
  /** Grants whose lease ended while the process paused before its first step. */
  readonly overtaken: number;
  readonly staleWritesRefused: number;
  /** In milliseconds. */
  readonly longestWait: number;
  /** Rejections of lock() and release(), by error. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Event counts, by name. */
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
