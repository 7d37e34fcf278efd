/**
 * Judges recorded starts against a rule: at most `limit` in any window of `per` milliseconds, and at most
 * `concurrency` running. Invariant: the verdict depends on the starts alone.
 */
import type { Rate } from './subject.js';

export interface Job {
  /** When it was requested, started and ended, in milliseconds. */
  readonly askedAt: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface Verdict {
  readonly starts: number;
  /** The number of starts in a window that was already full. */
  readonly tooEarly: number;
  /** The largest number of starts in any window. */
  readonly mostInWindow: number;
  readonly mostAtOnce: number;
  /** The starts as a share of those that the rule allows in the same time, in percent. */
  readonly throughput: number;
}

/**
 * Milliseconds by which a window may be shorter: a clock of whole milliseconds is off by one, and the engine may pause
 * between the decision and the start.
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

/** The last start of an ideal limiter: each job starts as soon as it is requested and the rule allows it. */
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
