/**
 * Tasks that take time, on a thread for each core, in each condition. Some only compute, others also await, as most
 * tasks that read something do.
 *
 * Invariant: a task is a number of turns, not a time, so that two threads on one core do not seem to do it twice as
 * fast; the number is the same for every subject.
 */
import { availableParallelism } from 'node:os';
import { begin, type Condition, conditions } from '../../../harness/condition.js';
import type { Budget, Cell } from '../../../harness/table.js';
import { mainThreadAlone, measureMainThread } from '../floors/main-thread-alone.js';
import { measureThreadsAlone, threadsAlone } from '../floors/threads-alone.js';
import type { OpenPool } from '../subject.js';
import { bestPools, poolNamed } from '../subjects/index.js';
import { spin } from '../tasks/functions.js';
import type { Lane } from '../workloads/closed-loop.js';
import { endlessLoop } from '../workloads/endless-loop.js';
import { samplesOf } from '../workloads/throughput.js';
import { turnsPerMicrosecond } from '../workloads/turns.js';
import { withPool } from './with-pool.js';

export const kinds = ['compute', 'also await'] as const;
export type Kind = (typeof kinds)[number];

/** By name, in microseconds. */
export const lengths = { '20 µs': 20, '100 µs': 100, '1 ms': 1_000, '10 ms': 10_000 } as const;
export type Length = keyof typeof lengths;

/** With few tasks in flight, the threads wait for the main thread to send more. */
export const depths = [4, 16, 64] as const;

export function workMeasure(depth: number, condition: Condition): string {
  return `${depth} in flight, ${condition}`;
}

export function workCellId(kind: Kind, length: Length): string {
  return `tasks of ${length} that ${kind}`;
}

/** The minimum number of tasks per thread in a sample. */
const fewestTasks = 10;

export const workCells: readonly Cell[] = kinds.flatMap((kind) =>
  (Object.keys(lengths) as Length[]).map((length) => workCell(kind, length)),
);

function workCell(kind: Kind, length: Length): Cell {
  const floors = kind === 'compute' ? [threadsAlone, mainThreadAlone] : [];
  return {
    id: workCellId(kind, length),
    subjects: [...bestPools, ...floors].map(({ name }) => name),
    expectedMilliseconds: 1_200,
    async measure(name, budget, isWanted) {
      const threads = availableParallelism();
      const turns = 2 * Math.round((turnsPerMicrosecond() * lengths[length]) / 2);
      const sampleMilliseconds = sampleOf(budget, lengths[length]);
      const samples: Record<string, readonly number[]> = {};

      /** `measure` measures with the given number of tasks in flight, and returns nothing for others. */
      const inEach = async (
        measure: (depthsWanted: readonly number[]) => ReturnType<typeof endlessLoop>,
      ) => {
        for (const condition of conditions) {
          const wanted = depths.filter((depth) => isWanted(workMeasure(depth, condition)));
          if (wanted.length === 0) continue;
          const running = await begin(condition);
          try {
            for (const [depth, found] of await measure(wanted)) {
              Object.assign(samples, samplesOf(workMeasure(depth, condition), found));
            }
          } finally {
            await running.end();
          }
        }
      };
      const alone = (perSecond: () => Promise<number> | number) =>
        inEach(async (wanted) => {
          const found = { perSecond: [await perSecond()], processorTime: [] };
          return new Map(wanted.map((depth) => [depth, found]));
        });

      if (name === mainThreadAlone.name) {
        await alone(() => measureMainThread(turns, sampleMilliseconds));
      } else if (name === threadsAlone.name) {
        const order = { warmUp: budget.warmupMilliseconds / 4, sample: sampleMilliseconds };
        await alone(() => measureThreadsAlone(threads, turns, order));
      } else {
        await withPool(poolNamed(name), { threads }, async (pool) => {
          const lane = laneMaker(pool, kind, turns);
          const warmUpMilliseconds = budget.warmupMilliseconds / 3;
          // Warms up the pool and the engine.
          const warmUp = { depths: [4], warmUpMilliseconds: budget.warmupMilliseconds };
          await endlessLoop(lane, { ...warmUp, sampleMilliseconds: 1 });
          await inEach((wanted) =>
            endlessLoop(lane, { depths: wanted, warmUpMilliseconds, sampleMilliseconds }),
          );
        });
      }
      return { ok: true, samples };
    },
  };
}

function sampleOf({ measureMilliseconds }: Budget, microseconds: number): number {
  return Math.max(measureMilliseconds / 2, (fewestTasks * microseconds) / 1_000);
}

function laneMaker(pool: OpenPool, kind: Kind, turns: number): () => Lane {
  const half = spin(turns / 2);
  const task = kind === 'compute' ? 'spin' : 'spinAwaiting';
  const expected = kind === 'compute' ? spin(turns) : half + half;
  return () => ({
    ask: () => pool.run(task, turns),
    check(answer) {
      if (answer !== expected) throw new Error(`answered ${String(answer)} for ${expected}`);
    },
  });
}
