/**
 * Tasks that take time, on a thread for each core: some compute, some also await, as most tasks that read something do,
 * and some block their thread.
 *
 * Invariant: a task that computes has a fixed number of turns, the same for every subject, and not a fixed time.
 * Otherwise two threads on one core would seem to do it twice as fast.
 */
import { availableParallelism } from 'node:os';
import { type Condition, conditionWords } from '../../../harness/condition.js';
import { processorTimeOf } from '../../../harness/sample.js';
import type { MeasuredCell, Row, Slice } from '../../../harness/table.js';
import mainThreadAlone from '../floors/main-thread-alone.js';
import { startThreads, threadsAlone } from '../floors/threads-alone.js';
import type { OpenPool, TaskName } from '../subject.js';
import { barePostMessage, bestPools, namesOf, poolNamed } from '../subjects/index.js';
import { spin } from '../tasks/functions.js';
import { isLoopWanted, type Lane, serveLoops } from '../workloads/closed-loop.js';
import { openPools } from '../workloads/open-pools.js';
import { turnsIn } from '../workloads/turns.js';

interface Work {
  readonly words: string;
  readonly task: TaskName;
  /** The time of a task that blocks; about the time of a task that computes. */
  readonly microseconds: number;
}

const works: readonly Work[] = [
  { words: 'compute for 20 µs', task: 'spin', microseconds: 20 },
  { words: 'compute for 100 µs', task: 'spin', microseconds: 100 },
  { words: 'compute for 1 ms', task: 'spin', microseconds: 1_000 },
  { words: 'compute for 100 µs and await', task: 'spinAwaiting', microseconds: 100 },
  { words: 'block for 1 ms', task: 'block', microseconds: 1_000 },
];
const conditions = ['quiet', 'all cores busy'] as const;
const inFlight = 16;

/** Without other programs, pools whose threads block do not differ. */
const all = conditions.flatMap((condition) =>
  works
    .filter(({ task }) => task !== 'block' || condition !== 'quiet')
    .map((work) => ({ ...work, condition, measure: `${work.words}, ${condition}` })),
);

export const workCell: MeasuredCell = {
  id: 'tasks that take time',
  subjects: namesOf([...bestPools, threadsAlone, mainThreadAlone]),
  sliceMilliseconds: 50,
  expectedMilliseconds: 1_500,
  async measure(name, lab) {
    const wanted = all.filter(({ measure }) => isLoopWanted(lab, measure));
    if (name === threadsAlone.name) {
      const measured = startThreads(availableParallelism());
      const computing = wanted.filter(({ task }) => task === 'spin');
      const slices = computing.map(({ measure, condition, microseconds }): Slice => {
        const turns = turnsIn(microseconds);
        return { name: measure, condition, run: (time) => measured(measure, turns, time) };
      });
      for (const slice of slices) await slice.run(50);
      await lab.serve(slices);
    } else {
      const poolOf = openPools(poolNamed(name));
      const loops = wanted.map(async ({ measure, condition, ...work }) => {
        const pool = await poolOf(availableParallelism(), condition);
        return { measure, condition, lanes: lanesOf(pool, work) };
      });
      await serveLoops(await Promise.all(loops), lab);
    }
    return { ok: true, samples: {} };
  },
};

export const workRows: readonly Row[] = all.map(({ measure, condition, words, task }) => ({
  row: `tasks that ${measure}`,
  cell: workCell.id,
  measure,
  processorTime: processorTimeOf(measure),
  unit: 'tasks/s',
  better: 'higher',
  subjects: workCell.subjects.filter((name) => task === 'spin' || name !== threadsAlone.name),
  floor: task === 'spin' ? threadsAlone.name : barePostMessage.name,
  about: aboutOf(words, condition),
  matrix: { title: 'Tasks that take time', block: `tasks/s, ${condition}`, column: words },
}));

function aboutOf(words: string, condition: Condition): string {
  return `Tasks that ${words}, ${inFlight} in flight, on a thread per core. ${conditionWords[condition]}`;
}

function lanesOf(pool: OpenPool, { task, microseconds }: Omit<Work, 'words'>): readonly Lane[] {
  const [given, expected] = taskOf(task, microseconds);
  return Array.from({ length: inFlight }, () => ({
    ask: () => pool.run(task, given),
    check(answer) {
      if (answer !== expected) throw new Error(`answered ${String(answer)} for ${expected}`);
    },
  }));
}

/** What the task is given, and its answer. */
function taskOf(task: TaskName, microseconds: number): readonly [number, number] {
  if (task === 'block') return [microseconds / 1_000, microseconds / 1_000];
  const turns = turnsIn(microseconds);
  return [turns, task === 'spin' ? spin(turns) : 2 * spin(turns / 2)];
}
