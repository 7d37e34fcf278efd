/**
 * Measures one subject on one platform: all of its works, in each condition. Each condition has a new worker, so that
 * nothing learnt in one carries over to the next.
 */
import { quantile } from 'simple-statistics';
import { begin, type Condition, conditions } from '../../../harness/condition.js';
import type { Budget, IsWanted, Measurement } from '../../../harness/table.js';
import type { Found, Order } from '../caller/order.js';
import type { BridgeSubject, Platform } from '../subject.js';
import type { Work } from '../work.js';
import { orderOf, worksOf } from './orders.js';
import { descendants, millisecondsBetween, readProcessorTime } from './processor-time.js';

/** A session that is opened for each condition. */
export interface Side {
  readonly platform: Platform;
  open(): Promise<void>;
  run(order: Order): Promise<Found>;
  closeSession(): Promise<void>;
}

export function measureName(condition: Condition, measure: string): string {
  return `${condition} ${measure}`;
}

/** The measure of the processor time per call of a work. */
export function processorTimeName(condition: Condition, work: Work): string {
  return measureName(condition, work === 'call' ? steadyProcessorTime : `${work} processor`);
}

export const steadyProcessorTime = 'processor';

export async function measureInAll(
  subject: BridgeSubject,
  side: Side,
  budget: Budget,
  isWanted: IsWanted,
): Promise<Measurement> {
  const samples: Record<string, readonly number[]> = {};
  for (const condition of conditions) {
    const works = worksOf(subject, side.platform, condition).filter((work) =>
      measuresOf(subject, work).some((measure) => isWanted(measureName(condition, measure))),
    );
    if (works.length === 0) continue;
    const running = await begin(condition);
    try {
      await side.open();
      const found = await measureWorks(subject, side, works, running.processes, budget);
      for (const [measure, values] of Object.entries(found)) {
        samples[measureName(condition, measure)] = values;
      }
      await side.closeSession();
    } finally {
      await running.end();
    }
  }
  return { ok: true, samples };
}

/** The measures that a work has samples of. */
function measuresOf({ sameAs = {} }: BridgeSubject, work: Work): string[] {
  if (work === 'single') return ['p50', 'p99'];
  if (work === 'steady') return [steadyProcessorTime];
  if (work === 'frames') return ['frames', steadyProcessorTime];
  const same = Object.entries(sameAs).filter(([, measured]) => measured === work);
  return [work, ...same.map(([name]) => name)];
}

async function measureWorks(
  subject: BridgeSubject,
  side: Side,
  works: readonly Work[],
  busyProcesses: readonly number[],
  budget: Budget,
): Promise<Record<string, readonly number[]>> {
  const { platform } = side;
  // In Node the host is this process; for a page this process is only the driver.
  const processes =
    platform === 'Node' ? [process.pid] : descendants().filter((id) => !busyProcesses.includes(id));
  const samples: Record<string, readonly number[]> = {};
  // The first work warms up the code that all share, so it always runs.
  for (const work of new Set<Work>([...firstOf(subject), ...works])) {
    const before = readProcessorTime(processes);
    const startedAt = performance.now();
    const found = await side.run(orderOf(work, platform, budget));
    const used = millisecondsBetween(before, readProcessorTime(processes));
    const gone = performance.now() - startedAt;
    const { frames, ...rest } = found.samples;
    if (frames) samples.frames = [quantile([...frames], 0.99)];
    const perCall = (1_000 * used) / found.calls;
    if (work === 'idle') samples.idle = [(1_000 * used) / gone];
    else if (work === 'steady' || work === 'frames') samples[steadyProcessorTime] = [perCall];
    else Object.assign(samples, rest, { [`${work} processor`]: [perCall] });
  }
  for (const [work, same] of Object.entries(subject.sameAs ?? {})) {
    samples[work] = samples[same] ?? [];
    samples[`${work} processor`] = samples[`${same} processor`] ?? [];
  }
  return samples;
}

function firstOf({ does }: BridgeSubject): readonly Work[] {
  return does.includes('call') ? ['call'] : [];
}
