/**
 * A task that does nothing: what it costs to have one done elsewhere, by how many are under way, on one
 * thread and on one for each core, quiet and loaded; and before all that the first result from cold.
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
import { withPool } from './with-pool.js';

export const depths = [1, 16, 256] as const;
export const threadCounts = ['one thread', 'all cores'] as const;
type ThreadCount = (typeof threadCounts)[number];

export function emptyMeasure(threads: ThreadCount, depth: number, condition: Condition): string {
  return `${threads}, ${depth}, ${condition}`;
}

export const coldMeasure = 'cold';

export const emptyCell: Cell = {
  id: 'empty',
  subjects: [...pools, calledDirectly, handOver].map(({ name }) => name),
  expectedMilliseconds: 6_000,
  async measure(name, budget) {
    if (name === handOver.name) return measureHandOvers(budget);
    if (name === calledDirectly.name) return measureDirectCalls(budget);
    const subject = poolNamed(name);
    const samples: Record<string, readonly number[]> = {};
    // First, while nothing of the library has been loaded.
    samples[coldMeasure] = [await firstResult(subject)];
    for (const condition of conditions) {
      const running = await begin(condition);
      try {
        for (const threads of threadCounts) {
          const count = threads === 'one thread' ? 1 : availableParallelism();
          await withPool(subject, { threads: count }, async (pool) => {
            for (const depth of depths) {
              const measure = emptyMeasure(threads, depth, condition);
              samples[measure] = await closedLoop(numberLanes(pool, depth), orderOf(budget, depth));
            }
          });
        }
      } finally {
        await running.end();
      }
    }
    return { ok: true, samples };
  },
};

/** From nothing: the library is imported, a pool made, and a task done. */
async function firstResult(subject: PoolSubject): Promise<number> {
  const startedAt = performance.now();
  return withPool(subject, { threads: 1 }, async (pool) => {
    const answer = await pool.run('echo', 1);
    const took = performance.now() - startedAt;
    if (answer !== 1) throw new Error(`answered ${String(answer)} for 1`);
    return took;
  });
}

/** No core has to be woken for them, so they are the same in every circumstance. */
async function measureDirectCalls(budget: Budget): Promise<Measurement> {
  const samples: Record<string, readonly number[]> = {};
  for (const depth of depths) {
    const measured = await withPool(calledDirectly, { threads: 0 }, (pool) =>
      closedLoop(numberLanes(pool, depth), orderOf(budget, depth)),
    );
    for (const condition of conditions) {
      for (const threads of threadCounts) {
        samples[emptyMeasure(threads, depth, condition)] = measured;
      }
    }
  }
  return { ok: true, samples };
}

async function measureHandOvers(budget: Budget): Promise<Measurement> {
  const samples: Record<string, readonly number[]> = {};
  for (const condition of conditions) {
    const running = await begin(condition);
    try {
      const measured = await measureHandOver(orderOf(budget, 1));
      for (const threads of threadCounts) samples[emptyMeasure(threads, 1, condition)] = measured;
    } finally {
      await running.end();
    }
  }
  return { ok: true, samples };
}

/** The first also warms up the pool and the engine, and lets it start its threads and find its way of waiting. */
function orderOf({ warmupMilliseconds, measureMilliseconds }: Budget, depth: number): LoopOrder {
  return {
    warmUpMilliseconds: warmupMilliseconds * (depth === 1 ? 8 : 1.5),
    samples: 3,
    sampleMilliseconds: measureMilliseconds / 3,
  };
}
