/** As many decisions as possible for some time, by a number of tasks, each with one request in flight. */
import { setImmediate as eventLoop } from 'node:timers/promises';
import { usedMicroseconds } from '../../../harness/sample.js';
import type { LimitClient } from '../subject.js';

export interface Decided {
  readonly perSecond: number;
  /** Of each decision, in milliseconds. */
  readonly waits: Float64Array;
  /** Microseconds of processor time. */
  readonly used: number;
}

/** Decisions of a task between two returns to the event loop: promises alone never return to it. */
const burst = 64;

export async function decide(
  client: LimitClient,
  keys: readonly string[],
  tasks: number,
  milliseconds: number,
): Promise<Decided> {
  const waits: number[] = [];
  let refused = 0;
  const usedBefore = usedMicroseconds();
  const startedAt = performance.now();
  const endsAt = startedAt + milliseconds;

  async function task(): Promise<void> {
    for (let decisions = 1; ; decisions++) {
      const askedAt = performance.now();
      if (askedAt >= endsAt) return;
      const key = keys[Math.floor(Math.random() * keys.length)] as string;
      if (!(await client.decide(key))) refused++;
      waits.push(performance.now() - askedAt);
      if (decisions % burst === 0) await eventLoop();
    }
  }

  await Promise.all(Array.from({ length: tasks }, task));
  const elapsed = performance.now() - startedAt;
  if (refused > 0)
    throw new Error(`refused ${refused} of ${waits.length} requests far below its limit`);
  return {
    perSecond: (1_000 * waits.length) / elapsed,
    waits: Float64Array.from(waits),
    used: usedMicroseconds() - usedBefore,
  };
}
