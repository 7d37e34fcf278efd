/**
 * Judges recorded starts against a rule: never more than `limit` of them in any window of `per` milliseconds, and
 * never more than `concurrency` running. Invariant: knows the starts alone, nothing of who made them.
 */
import type { Rate } from './subject.js';

export interface Job {
  /** When it was asked for, when it started and when it ended, in milliseconds. */
  readonly askedAt: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface Verdict {
  readonly starts: number;
  /** How many of them came while the window that ends with them was full. */
  readonly tooEarly: number;
  /** The most that any window had. */
  readonly mostInWindow: number;
  readonly mostAtOnce: number;
  /** Of the starts that the rule allows in the time that it took, in percent. */
  readonly throughput: number;
}

/**
 * Milliseconds that a window may be shorter: a clock of whole milliseconds is wrong by one, and a pause of the engine
 * can come between the decision and the start.
 */
export const tolerance = 2;

export function judge(jobs: readonly Job[], { limit, per }: Rate, concurrency: number): Verdict {
  const byStart = [...jobs].sort((a, b) => a.startedAt - b.startedAt);
  const starts = byStart.map(({ startedAt }) => startedAt);
  let oldest = 0;
  let mostInWindow = 0;
  let tooEarly = 0;
  for (const [index, start] of starts.entries()) {
    while (start - (starts[oldest] ?? start) >= per - tolerance) oldest += 1;
    const inWindow = index - oldest + 1;
    mostInWindow = Math.max(mostInWindow, inWindow);
    if (inWindow > limit) tooEarly += 1;
  }
  const asked = Math.min(...jobs.map(({ askedAt }) => askedAt));
  const took = (starts.at(-1) ?? asked) - asked;
  const best = bestLastStart(byStart, { limit, per }, concurrency) - asked;
  return {
    starts: starts.length,
    tooEarly,
    mostInWindow,
    mostAtOnce: mostAtOnce(jobs),
    throughput: (100 * best) / took,
  };
}

/** The last start of a limiter that loses no time: each job as soon as it is asked for and the rule allows it. */
function bestLastStart(jobs: readonly Job[], { limit, per }: Rate, concurrency: number): number {
  const starts: number[] = [];
  const running: number[] = [];
  for (const { askedAt, startedAt, endedAt } of jobs) {
    const whenWindow = (starts.at(-limit) ?? Number.NEGATIVE_INFINITY) + per;
    const earliest = starts.length < limit ? askedAt : Math.max(askedAt, whenWindow);
    running.sort((a, b) => a - b);
    const whenFree = running.length < concurrency ? askedAt : (running.shift() ?? askedAt);
    const start = Math.max(earliest, whenFree);
    starts.push(start);
    running.push(start + endedAt - startedAt);
  }
  return starts.at(-1) ?? 0;
}

function mostAtOnce(jobs: readonly Job[]): number {
  const changes = jobs
    .flatMap(({ startedAt, endedAt }) => [
      { at: startedAt, by: 1 },
      { at: endedAt, by: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let running = 0;
  let most = 0;
  for (const { by } of changes) {
    running += by;
    most = Math.max(most, running);
  }
  return most;
}
