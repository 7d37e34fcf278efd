/**
 * Endless tasks: more and more in flight, each followed by the next, observed while they run.
 *
 * Invariant: a sample includes no filling and no draining, so it may be shorter than the tasks in flight take
 * together. Every answer before its end has been checked; tasks in flight at the end are ended with the pool.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Lane } from './closed-loop.js';
import { type Throughput, usedMicroseconds } from './throughput.js';

export interface EndlessOrder {
  /** The numbers of tasks in flight, in ascending order. */
  readonly depths: readonly number[];
  readonly warmUpMilliseconds: number;
  readonly sampleMilliseconds: number;
}

/** By depth. */
export async function endlessLoop(
  makeLane: () => Lane,
  { depths, warmUpMilliseconds, sampleMilliseconds }: EndlessOrder,
): Promise<ReadonlyMap<number, Throughput>> {
  const found = new Map<number, Throughput>();
  let answered = 0;
  let underWay = 0;
  let isOver = false;
  let failed = (_error: unknown): void => {};
  const failure = new Promise<never>((_resolve, reject) => {
    failed = reject;
  });
  const goOn = async (lane: Lane) => {
    try {
      while (!isOver) {
        lane.check(await lane.ask());
        answered += 1;
      }
    } catch (error) {
      // Rejections caused by the end of the pool are ignored.
      if (!isOver) failed(error);
    }
  };
  const watch = async () => {
    for (const depth of depths) {
      for (; underWay < depth; underWay++) void goOn(makeLane());
      await pause(warmUpMilliseconds);
      const before = answered;
      const usedBefore = usedMicroseconds();
      const startedAt = performance.now();
      await pause(sampleMilliseconds);
      const seconds = (performance.now() - startedAt) / 1_000;
      const tasks = answered - before;
      const used = usedMicroseconds() - usedBefore;
      found.set(depth, {
        perSecond: [tasks / seconds],
        processorTime: tasks === 0 ? [] : [used / tasks],
      });
    }
  };
  try {
    await Promise.race([watch(), failure]);
  } finally {
    isOver = true;
  }
  return found;
}
