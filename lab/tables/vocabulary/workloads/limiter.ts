/**
 * Functions submitted to a limiter all at once. The functions count how many of them run, which must never exceed
 * the limit.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expectCount, type Workload } from '../../../harness/workload.js';
import { type Job, judge } from '../obedience.js';
import type { KeyedForm, LimiterForm, Rate, Rule } from '../subject.js';

const atOnce = 10;
/** One batch of 10,000 never reaches this rate, so the cost of counting is measured and not a wait. */
const wideRate: Rate = { limit: 20_000, per: 60_000 };
const narrowRate: Rate = { limit: 20, per: 250 };
const mostKeys = 10_000;
const perKey = 2;
const resolved = Promise.resolve();

export function queued(rule: Rule, mostJobs = 10_000) {
  const concurrency = rule === 'rate' ? Number.POSITIVE_INFINITY : atOnce;
  const rate = rule === 'concurrency' ? undefined : wideRate;
  return (
    { create, run, limitsNothing, most = mostJobs }: LimiterForm,
    library: unknown,
  ): Workload => {
    const results: Promise<unknown>[] = [];
    const jobs = Math.min(most, mostJobs);
    let running = 0;
    let mostRunning = 0;
    let count = 0;

    async function work(): Promise<void> {
      running += 1;
      if (running > mostRunning) mostRunning = running;
      await resolved;
      running -= 1;
      count += 1;
    }

    async function batch(): Promise<void> {
      const limiter = create(library, { concurrency, rate });
      for (let job = 0; job < jobs; job++) results[job] = run(limiter, work);
      await Promise.all(results);
      expectCount('functions run', count, jobs);
      if (!limitsNothing && mostRunning > concurrency) {
        expectCount('most at once', mostRunning, concurrency);
      }
      count = 0;
      mostRunning = 0;
    }

    return { operations: jobs, batch };
  };
}

/**
 * Returns how a limiter exceeds its rate at the boundary of two windows, if it does: a short form of the judged rows.
 */
export async function exceedsAtEdge(
  { create, run }: LimiterForm,
  library: unknown,
): Promise<string | undefined> {
  const { limit, per } = narrowRate;
  const limiter = create(library, { concurrency: 2 * limit, rate: narrowRate });
  const started: Job[] = [];
  const work = async () => {
    const now = performance.now();
    started.push({ askedAt: now, startedAt: now, endedAt: now });
  };
  void run(limiter, work);
  await pause(per - 20);
  for (let job = 1; job < 2 * limit; job++) void run(limiter, work);
  await pause(60);
  const { mostInWindow } = judge(started, narrowRate, 2 * limit);
  if (mostInWindow <= limit) return undefined;
  return `started ${mostInWindow} in ${per} ms with a limit of ${limit}`;
}

/** Two functions for each of 10,000 keys, one at a time per key. */
export function keyed(
  { create, run, limitsNothing, most: keys = mostKeys }: KeyedForm,
  library: unknown,
): Workload {
  const names = Array.from({ length: keys }, (_, index) => `key ${index}`);
  const results: Promise<unknown>[] = [];

  async function batch(): Promise<void> {
    const inside = new Set<number>();
    let together = 0;
    let count = 0;
    const limiter = create(library, 1);
    for (let round = 0; round < perKey; round++) {
      for (const [key, name] of names.entries()) {
        results[round * keys + key] = run(limiter, name, async () => {
          if (inside.has(key)) together += 1;
          inside.add(key);
          await resolved;
          inside.delete(key);
          count += 1;
        });
      }
    }
    await Promise.all(results);
    expectCount('functions run', count, keys * perKey);
    if (!limitsNothing) expectCount('times that a key had two at once', together, 0);
  }

  return { operations: keys * perKey, batch };
}
