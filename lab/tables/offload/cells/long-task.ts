/**
 * One long task after the other occupies a thread, and short tasks arrive every 2 ms.
 *
 * Invariant: short tasks arrive independently of the answers, so a pool that queues them behind the long one gets as
 * many as the others.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { mean, quantile } from 'simple-statistics';
import { type Condition, conditionWords } from '../../../harness/condition.js';
import type { MeasuredCell, Row, Samples, Slice } from '../../../harness/table.js';
import type { OpenPool } from '../subject.js';
import { namesOf, poolNamed, pools } from '../subjects/index.js';
import { spin } from '../tasks/functions.js';
import { openPools } from '../workloads/open-pools.js';
import { turnsIn } from '../workloads/turns.js';

const longMicroseconds = 50_000;
const shortMicroseconds = 100;
const everyMilliseconds = 2;
const conditions = ['quiet', 'all cores busy'] as const;
const measures = ['mean', '90th percentile'] as const;
/** One thread for the long task, and at least one for the others. */
const threads = Math.max(2, availableParallelism());

export const longTaskCell: MeasuredCell = {
  id: 'a long task among short ones',
  subjects: namesOf(pools),
  sliceMilliseconds: 100,
  expectedMilliseconds: 1_000,
  async measure(name, lab) {
    const poolOf = openPools(poolNamed(name));
    const slices = conditions
      .filter((condition) => measures.some((measure) => lab.isWanted(`${measure}, ${condition}`)))
      .map(async (condition): Promise<Slice> => {
        const pool = await poolOf(threads, condition);
        const run = (milliseconds: number) => mixed(pool, condition, milliseconds);
        await run(100);
        return { name: condition, condition, run };
      });
    await lab.serve(await Promise.all(slices));
    return { ok: true, samples: {} };
  },
};

export const longTaskRows: readonly Row[] = conditions.flatMap((condition) =>
  measures.map((measure) => ({
    row: `short tasks beside a long one, ${measure}, ${condition}`,
    cell: longTaskCell.id,
    measure: `${measure}, ${condition}`,
    unit: 'ms',
    better: 'lower',
    about: `Tasks of 50 ms occupy one thread of ${threads}; every 2 ms a task of 100 µs is sent and timed. ${conditionWords[condition]}`,
    matrix: {
      title: 'Short tasks beside a long one',
      block: `from its call to its result, ms, ${condition}`,
      column: measure,
    },
  })),
);

async function mixed(pool: OpenPool, condition: Condition, milliseconds: number): Promise<Samples> {
  const until = performance.now() + milliseconds;
  let isOver = false;
  const occupy = async () => {
    do await timed(pool, longMicroseconds);
    while (performance.now() < until);
  };
  const occupied = occupy().finally(() => {
    isOver = true;
  });
  const short: Promise<number>[] = [];
  while (!isOver) {
    await pause(everyMilliseconds);
    short.push(timed(pool, shortMicroseconds));
  }
  await occupied;
  const times = await Promise.all(short);
  return {
    [`mean, ${condition}`]: mean(times),
    [`90th percentile, ${condition}`]: quantile(times, 0.9),
  };
}

/** Returns the milliseconds from the call of a task to its checked result. */
async function timed(pool: OpenPool, microseconds: number): Promise<number> {
  const turns = turnsIn(microseconds);
  const startedAt = performance.now();
  const answer = await pool.run('spin', turns);
  const took = performance.now() - startedAt;
  if (answer !== expectedOf(turns))
    throw new Error(`answered ${String(answer)} for ${turns} turns`);
  return took;
}

const expected = new Map<number, number>();

function expectedOf(turns: number): number {
  const known = expected.get(turns) ?? spin(turns);
  expected.set(turns, known);
  return known;
}
