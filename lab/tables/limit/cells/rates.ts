/** Decisions on one key or on many, in this process or in several, far below the limit. */
import { quantile, sum } from 'simple-statistics';
import { announcedAddress } from '../../../harness/redis-server.js';
import type { MeasuredCell, Samples } from '../../../harness/table.js';
import { Processes } from '../processes/processes.js';
import { processCount } from '../processes/shared.js';
import type { Rule } from '../subject.js';
import { exactSubjects, leasedSubjects, limitSubjectNamed } from '../subjects/index.js';
import { checkLimit } from '../workloads/check-limit.js';
import { type Decided, decide } from '../workloads/decide.js';
import { keysNamed } from '../workloads/keys.js';

export interface Setting {
  readonly keys: 1 | 10_000;
  readonly processes: 1 | typeof processCount;
  /** Ours takes starts ahead. */
  readonly isLeased: boolean;
}

/** More than any subject decides, so that each request is allowed. */
const rule: Rule = { limit: 100_000_000, per: 1_000 };
export const inFlight = 32;
const sliceMilliseconds = 100;
/** After this time the engine has compiled the code of a decision, and each key has been asked for. */
const warmUpMilliseconds = 700;

export const settings: readonly Setting[] = ([1, 10_000] as const).flatMap((keys) =>
  ([1, processCount] as const).flatMap((processes) =>
    [false, true].map((isLeased) => ({ keys, processes, isLeased })),
  ),
);

export function nameOf({ keys, processes, isLeased }: Setting): string {
  const of = keys === 1 ? 'one hot key' : `${keys.toLocaleString('en-US')} keys`;
  return `${of}, ${processes === 1 ? '1 process' : `${processes} processes`}${isLeased ? ', leased' : ''}`;
}

function samplesOf(found: readonly Decided[]): Samples {
  const waits = found.flatMap((one) => [...one.waits]);
  return {
    perSecond: sum(found.map(({ perSecond }) => perSecond)),
    p99: quantile(waits, 0.99),
    'processor time': sum(found.map(({ used }) => used)) / waits.length,
  };
}

export function rateCell(setting: Setting): MeasuredCell {
  const { keys, processes: count, isLeased } = setting;
  const tasks = inFlight / count;
  return {
    id: nameOf(setting),
    subjects: (isLeased ? leasedSubjects : exactSubjects)
      .filter(({ fewKeys }) => keys === 1 || fewKeys === undefined)
      .map(({ name }) => name),
    expectedMilliseconds: count === 1 ? 1_500 : 2_500,
    limitMilliseconds: 60_000,
    sliceMilliseconds,
    async measure(name, lab) {
      const subject = limitSubjectNamed(name);
      const address = announcedAddress();
      const namespace = `lab-${process.pid}`;
      if (subject.role !== 'floor') await checkLimit(subject, address, namespace);
      let run: (milliseconds: number) => Promise<Samples>;
      let end: () => unknown;
      if (count === 1) {
        const client = await subject.connect(address, namespace, rule);
        const names = keysNamed(keys);
        run = async (milliseconds) => samplesOf([await decide(client, names, tasks, milliseconds)]);
        end = () => client.close();
      } else {
        const processes = new Processes(count, name, address, namespace, rule);
        await processes.ready();
        run = async (milliseconds) =>
          samplesOf(await processes.run({ name: 'decide', keys, tasks, milliseconds }));
        end = () => processes.end();
      }
      await run(warmUpMilliseconds);
      await lab.serve([{ name: nameOf(setting), run }]);
      await end();
      return { ok: true, samples: {} };
    },
  };
}
