/** What each subject lets through above its limit, by the judge. */
import { announcedAddress } from '../../../harness/redis-server.js';
import type { Behaviour, MeasuredCell } from '../../../harness/table.js';
import { judge } from '../judge.js';
import { Processes } from '../processes/processes.js';
import { processCount } from '../processes/shared.js';
import { limiters } from '../subjects/index.js';
import { now, rule, traceMilliseconds } from '../workloads/trace.js';

/** Time for the command to reach each process. */
const aheadMilliseconds = 100;

const situations = new Map([
  ['1 process', 1],
  [`${processCount} processes`, processCount],
]);

export const aboveColumns = [...situations.keys()];

async function behaviourOf(name: string, count: number): Promise<Behaviour> {
  const namespace = `lab-${process.pid}-${count}`;
  const processes = new Processes(count, name, announcedAddress(), namespace, rule);
  await processes.ready();
  const reports = await processes.run({ name: 'trace', at: now() + aheadMilliseconds });
  processes.end();
  const { starts, above, mostInWindow } = judge(reports.flat(), rule);
  const words =
    above === 0 ? `none of ${starts}` : `${above} of ${starts}, up to ${mostInWindow} in a window`;
  return { words, sound: above === 0 };
}

export const aboveCell: MeasuredCell = {
  id: 'let through above the limit',
  subjects: limiters.map(({ name }) => name),
  whole: 'The requests of a subject come at fixed times of some windows.',
  expectedMilliseconds: 2 * (traceMilliseconds + 1_500),
  limitMilliseconds: 60_000,
  async measure(name) {
    const behaviours: Record<string, Behaviour> = {};
    for (const [column, count] of situations) behaviours[column] = await behaviourOf(name, count);
    return { ok: true, samples: {}, behaviours };
  },
};
