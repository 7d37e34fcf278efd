/**
 * A task that does nothing: the overhead of a pool, by tasks in flight, on one thread and on one per core, in each
 * condition; and first of all the first result from cold.
 */
import { availableParallelism } from 'node:os';
import { begin, type Condition, conditions } from '../../../harness/condition.js';
import type { Budget, Cell, Measurement } from '../../../harness/table.js';
import calledDirectly from '../floors/called-directly.js';
import { handOver, measureHandOver } from '../floors/hand-over.js';
import type { PoolSubject } from '../subject.js';
import { poolNamed, pools } from '../subjects/index.js';
import { closedLoop, type LoopOrder } from '../workloads/closed-loop.js';
import { numberLanes } from '../workloads/lanes.js';
import { samplesOf } from '../workloads/throughput.js';
import { withPool } from './with-pool.js';

export const depths = [1, 16, 256] as const;
export const threadCounts = ['one thread', 'all cores'] as const;
type ThreadCount = (typeof threadCounts)[number];

export function emptyMeasure(threads: ThreadCount, depth: number, condition: Condition): string {
  return `${threads}, ${depth}, ${condition}`;
}

export const coldMeasure = 'cold';

export const emptyCells: readonly Cell[] = threadCounts.map((threads) => ({
  id: threads === 'one thread' ? 'empty' : `empty, ${threads}`,
  subjects: [...pools, calledDirectly, handOver].map(({ name }) => name),
  expectedMilliseconds: 3_000,
  async measure(name, budget, isWanted) {
    const isDue = (condition: Condition) =>
      depths.filter((depth) => isWanted(emptyMeasure(threads, depth, condition)));
    if (name === handOver.name) return measureHandOvers(threads, budget, isDue);
    if (name === calledDirectly.name) return measureDirectCalls(threads, budget);
    const subject = poolNamed(name);
    const samples: Record<string, readonly number[]> = {};
    // First, before anything of the library is loaded.
    if (isWanted(coldMeasure)) samples[coldMeasure] = [await firstResult(subject)];
    const count = threads === 'one thread' ? 1 : availableParallelism();
    for (const condition of conditions) {
      const due = isDue(condition);
      if (due.length === 0) continue;
      const running = await begin(condition);
      try {
        await withPool(subject, { threads: count }, async (pool) => {
          for (const depth of due) {
            const found = await closedLoop(
              numberLanes(pool, depth),
              orderOf(budget, depth === due[0]),
            );
            Object.assign(samples, samplesOf(emptyMeasure(threads, depth, condition), found));
          }
        });
      } finally {
        await running.end();
      }
    }
    return { ok: true, samples };
  },
}));

/** From cold: imports the library, creates a pool and runs a task. */
async function firstResult(subject: PoolSubject): Promise<number> {
  const startedAt = performance.now();
  return withPool(subject, { threads: 1 }, async (pool) => {
    const answer = await pool.run('echo', 1);
    const took = performance.now() - startedAt;
    if (answer !== 1) throw new Error(`answered ${String(answer)} for 1`);
    return took;
  });
}

/** They wake no core, so they are the same in every condition. */
async function measureDirectCalls(threads: ThreadCount, budget: Budget): Promise<Measurement> {
  const samples: Record<string, readonly number[]> = {};
  for (const depth of depths) {
    const found = await withPool(calledDirectly, { threads: 0 }, (pool) =>
      closedLoop(numberLanes(pool, depth), orderOf(budget, depth === depths[0])),
    );
    for (const condition of conditions) {
      Object.assign(samples, samplesOf(emptyMeasure(threads, depth, condition), found));
    }
  }
  return { ok: true, samples };
}

async function measureHandOvers(
  threads: ThreadCount,
  budget: Budget,
  isDue: (condition: Condition) => readonly number[],
): Promise<Measurement> {
  const samples: Record<string, readonly number[]> = {};
  for (const condition of conditions) {
    if (!isDue(condition).includes(1)) continue;
    const running = await begin(condition);
    try {
      samples[emptyMeasure(threads, 1, condition)] = await measureHandOver(orderOf(budget, true));
    } finally {
      await running.end();
    }
  }
  return { ok: true, samples };
}

/** The first order also warms up the pool and the engine: threads start, and adaptive waiting settles. */
function orderOf({ warmupMilliseconds, measureMilliseconds }: Budget, isFirst: boolean): LoopOrder {
  return {
    warmUpMilliseconds: warmupMilliseconds * (isFirst ? 4 : 1),
    samples: 3,
    sampleMilliseconds: measureMilliseconds / 3,
  };
}
