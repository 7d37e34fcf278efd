/**
 * One subject on one platform: all that it does, first quiet, then loaded. Each half has a new worker,
 * so that what a subject learnt in the one does not help it in the other.
 */
import { quantile } from 'simple-statistics';
import { begin, type Condition, conditions } from '../../../harness/condition.js';
import type { Budget, Measurement } from '../../../harness/table.js';
import type { Found, Order } from '../caller/order.js';
import type { BridgeSubject, Platform } from '../subject.js';
import { orderOf, worksOf } from './orders.js';
import { descendants, millisecondsBetween, readProcessorTime } from './processor-time.js';

/** A session that is opened anew for each condition. */
export interface Side {
  readonly platform: Platform;
  open(): Promise<void>;
  run(order: Order): Promise<Found>;
  closeSession(): Promise<void>;
}

export function measureName(condition: Condition, measure: string): string {
  return `${condition} ${measure}`;
}

export async function measureBoth(
  subject: BridgeSubject,
  side: Side,
  budget: Budget,
): Promise<Measurement> {
  const samples: Record<string, readonly number[]> = {};
  for (const condition of conditions) {
    const running = await begin(condition);
    try {
      await side.open();
      const found = await measureWorks(subject, side, condition, running.processes, budget);
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

async function measureWorks(
  subject: BridgeSubject,
  side: Side,
  condition: Condition,
  busyProcesses: readonly number[],
  budget: Budget,
): Promise<Record<string, readonly number[]>> {
  const { platform } = side;
  // In Node the host is this process; of a page it is only the driver.
  const processes =
    platform === 'Node' ? [process.pid] : descendants().filter((id) => !busyProcesses.includes(id));
  const samples: Record<string, readonly number[]> = {};
  for (const work of worksOf(subject, platform, condition)) {
    const before = readProcessorTime(processes);
    const startedAt = performance.now();
    const found = await side.run(orderOf(work, platform, budget));
    const used = millisecondsBetween(before, readProcessorTime(processes));
    const gone = performance.now() - startedAt;
    const { frames, ...rest } = found.samples;
    if (frames) samples.frames = [quantile([...frames], 0.99)];
    if (work === 'steady' || work === 'frames') samples.processor = [(1_000 * used) / found.calls];
    else if (work === 'idle') samples.idle = [(1_000 * used) / gone];
    else Object.assign(samples, rest);
  }
  for (const [work, same] of Object.entries(subject.sameAs ?? {}))
    samples[work] = samples[same] ?? [];
  return samples;
}
