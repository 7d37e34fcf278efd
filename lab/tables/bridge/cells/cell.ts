/**
 * A cell of this table: one subject on one platform, with a slice for each work in each condition. Each condition has a
 * new worker, so that nothing learnt in one carries over to the next.
 */
import { type Condition, conditions } from '../../../harness/condition.js';
import { millisecondsBetween, readProcessorTime } from '../../../harness/processor-time.js';
import { processorTimeOf } from '../../../harness/sample.js';
import type { Lab, MeasuredCell, Measurement, Samples, Slice } from '../../../harness/table.js';
import type { Found } from '../caller/order.js';
import { averageTime, margin, timedCalls } from '../caller/perform.js';
import { noChromium } from '../page/browser.js';
import type { BridgeSubject, Platform } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import type { Work } from '../work.js';
import { openSessions, type Sessions } from './sessions.js';

/** The time in which the engine compiles the code that all works of a session share; more in a page, by experiment. */
const warmUpMilliseconds: Readonly<Record<Platform, number>> = {
  Chromium: 400,
  Node: 100,
  'Node, into a worker': 100,
};
const workWarmUpMilliseconds = 15;

interface Described extends Pick<MeasuredCell, 'id' | 'sliceMilliseconds' | 'turns'> {
  readonly platform: Platform;
  readonly works: readonly Work[];
  /** Default: all subjects that do one of the works. */
  readonly subjects?: readonly string[];
}

export function bridgeCell({ platform, works, ...cell }: Described): MeasuredCell {
  return {
    subjects: whoDo(platform, ...works),
    ...cell,
    expectedMilliseconds: platform === 'Chromium' ? 1_000 : 600,
    limitMilliseconds: 60_000,
    warmsUpAlone: true,
    async measure(name, lab) {
      const sessions = await openSessions(platform, name, works.includes('idle'));
      if (!sessions) return { ok: false, unavailable: true, note: noChromium, samples: {} };
      try {
        return await serve(subjectNamed(name), { platform, works }, sessions, lab);
      } finally {
        await sessions.close();
      }
    },
  };
}

/** The subjects of works on a platform. */
export function whoDo(platform: Platform, ...works: readonly Work[]): string[] {
  return subjects
    .filter((subject) => subject.platforms.includes(platform))
    .filter((subject) => works.some((work) => wayOf(subject, work) !== undefined))
    .map(({ name }) => name);
}

export function measureName(condition: Condition, measure: string): string {
  return `${condition} ${measure}`;
}

/** Returns the work that a subject does for this one: the same, or another that replaces it. */
function wayOf({ does, doneBy = {} }: BridgeSubject, work: Work): Work | undefined {
  return does.includes(work) ? work : doneBy[work];
}

export function processorTimeName(condition: Condition, work: Work): string {
  return processorTimeOf(measureName(condition, work));
}

function measuresOf(work: Work): string[] {
  if (work === 'single') return ['p99'];
  if (work === 'call') return [work, averageTime, margin, timedCalls];
  return [work];
}

async function serve(
  subject: BridgeSubject,
  { platform, works }: Pick<Described, 'platform' | 'works'>,
  sessions: Sessions,
  lab: Lab,
): Promise<Measurement> {
  const isWanted = (condition: Condition, work: Work) =>
    [...measuresOf(work), processorTimeOf(work)].some((measure) =>
      lab.isWanted(measureName(condition, measure)),
    );
  const does = works.filter((work) => wayOf(subject, work) !== undefined);
  const slices: Slice[] = [];
  for (const condition of conditions) {
    const wanted = does.filter((work) => isWanted(condition, work));
    if (wanted.length === 0) continue;
    const session = await sessions.open();
    const shared: Work = subject.does.includes('call') ? 'call' : (does[0] as Work);
    await session.run({ work: shared, milliseconds: warmUpMilliseconds[platform] });
    for (const work of wanted) {
      const way = wayOf(subject, work) as Work;
      if (way !== shared) await session.run({ work: way, milliseconds: workWarmUpMilliseconds });
      slices.push({
        name: measureName(condition, work),
        condition,
        async run(milliseconds) {
          const before = readProcessorTime(processes);
          const startedAt = performance.now();
          const found = await session.run({ work: way, milliseconds });
          const used = millisecondsBetween(before, readProcessorTime(processes));
          return work === 'idle'
            ? { [this.name]: (1_000 * used) / (performance.now() - startedAt) }
            : samplesOf(condition, work, way, found, used);
        },
      });
    }
  }
  const processes = sessions.processes();
  await lab.serve(slices);
  return { ok: true, samples: {} };
}

function samplesOf(
  condition: Condition,
  work: Work,
  way: Work,
  { samples, calls }: Found,
  usedMilliseconds: number,
): Samples {
  const measured = measuresOf(work).map((measure) => [
    measureName(condition, measure),
    samples[measure] ?? samples[way],
  ]);
  return {
    ...Object.fromEntries(measured),
    [processorTimeName(condition, work)]: (1_000 * usedMilliseconds) / calls,
  };
}
