/**
 * A task that does nothing: the overhead of a pool, by tasks in flight, on one thread and on one per core, in each
 * condition; and the first result from cold.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type Condition, conditionWords } from '../../../harness/condition.js';
import { processorTimeOf } from '../../../harness/sample.js';
import type { MeasuredCell, Row } from '../../../harness/table.js';
import type { PoolSubject } from '../subject.js';
import { barePostMessage, namesOf, poolNamed, pools } from '../subjects/index.js';
import { isLoopWanted, serveLoops } from '../workloads/closed-loop.js';
import { numberLanes } from '../workloads/lanes.js';
import { openPools } from '../workloads/open-pools.js';

interface Load {
  readonly threads: 'one thread' | 'all cores';
  readonly depth: number;
  readonly condition: Condition;
}

const headlineLoad: Load = { threads: 'one thread', depth: 16, condition: 'quiet' };

const otherLoads: readonly Load[] = (['quiet', 'all cores busy'] as const).flatMap((condition) => [
  { threads: 'one thread', depth: 1, condition },
  ...(condition === 'quiet' ? [] : [{ ...headlineLoad, condition }]),
  { threads: 'one thread', depth: 256, condition },
  { threads: 'all cores', depth: 16, condition },
]);

const coldMeasure = 'cold';
/** The promise of poolifier's end sometimes never settles. */
const mostEndingMilliseconds = 500;

export const emptyHeadlineCell = emptyCell('an empty task', [headlineLoad]);
export const emptyCells = [emptyHeadlineCell, emptyCell('empty tasks', otherLoads)];

export const emptyRows: readonly Row[] = [
  rowOf(headlineLoad, emptyHeadlineCell.id),
  {
    row: 'processor time of an empty task, 16 in flight, one thread, quiet',
    cell: emptyHeadlineCell.id,
    measure: processorTimeOf(measureOf(headlineLoad)),
    unit: 'µs',
    better: 'lower',
    about: 'What the row above costs: the processor time of all threads.',
  },
  ...otherLoads.map((load) => rowOf(load, 'empty tasks')),
  {
    row: 'first result from cold',
    cell: 'empty tasks',
    measure: coldMeasure,
    unit: 'ms',
    better: 'lower',
    subjects: namesOf(pools.filter((pool) => pool !== barePostMessage)),
    about: 'The library is imported, a pool of one thread is created, and one task runs in it.',
  },
];

function measureOf({ threads, depth, condition }: Load): string {
  return `${depth} in flight, ${threads}, ${condition}`;
}

function rowOf(load: Load, cell: string): Row {
  const { threads, depth, condition } = load;
  const measure = measureOf(load);
  return {
    row: `an empty task, ${measure}`,
    cell,
    measure,
    processorTime: processorTimeOf(measure),
    unit: 'tasks/s',
    better: 'higher',
    about: `A number goes to a thread and back. ${conditionWords[condition]}`,
    ...(load === headlineLoad
      ? {}
      : {
          matrix: {
            title: 'An empty task',
            block: `tasks/s, ${condition}`,
            column: `${threads}, ${depth} in flight`,
          },
        }),
  };
}

function emptyCell(id: string, loads: readonly Load[]): MeasuredCell {
  return {
    id,
    subjects: namesOf(pools),
    sliceMilliseconds: 40,
    expectedMilliseconds: 300 + 100 * loads.length,
    async measure(name, lab) {
      const subject = poolNamed(name);
      // Before anything of the library is loaded.
      const samples = lab.isWanted(coldMeasure)
        ? { [coldMeasure]: [await firstResult(subject)] }
        : {};
      const poolOf = openPools(subject);
      const loops = loads
        .filter((load) => isLoopWanted(lab, measureOf(load)))
        .map(async (load) => {
          const threads = load.threads === 'one thread' ? 1 : availableParallelism();
          const pool = await poolOf(threads, load.condition);
          const lanes = numberLanes(pool, load.depth);
          return { measure: measureOf(load), condition: load.condition, lanes };
        });
      await serveLoops(await Promise.all(loops), lab);
      return { ok: true, samples };
    },
  };
}

/** From cold: imports the library, creates a pool and runs a task. */
async function firstResult(subject: PoolSubject): Promise<number> {
  const startedAt = performance.now();
  const pool = await subject.open({ threads: 1 });
  const answer = await pool.run('echo', 1);
  const took = performance.now() - startedAt;
  if (answer !== 1) throw new Error(`answered ${String(answer)} for 1`);
  await Promise.race([pool.end(), pause(mostEndingMilliseconds)]);
  return took;
}
