/**
 * Tasks in a closed loop: a fixed number in flight, each followed by the next.
 *
 * Invariant: a sample is a number of tasks, all answered and checked, over their total time. It is at least `rounds`
 * times the number in flight, so filling and draining the pool count little.
 */

import { type Throughput, usedMicroseconds } from './throughput.js';

/** A place in the loop: it sends a task, and checks the answer before it sends the next. */
export interface Lane {
  ask(): Promise<unknown>;
  /** Throws if the answer is wrong. */
  check(answer: unknown): void;
}

export interface LoopOrder {
  readonly warmUpMilliseconds: number;
  readonly samples: number;
  readonly sampleMilliseconds: number;
}

const rounds = 2;
/**
 * If the minimum number of tasks takes longer than a sample, sampling ends after this multiple of the time, with fewer
 * samples.
 */
const mostOverrun = 3;

export async function closedLoop(lanes: readonly Lane[], order: LoopOrder): Promise<Throughput> {
  const { warmUpMilliseconds, samples, sampleMilliseconds } = order;
  const warmUpEnds = performance.now() + warmUpMilliseconds;
  let perMillisecond = 0;
  const sample = async (milliseconds: number) => {
    const tasks = Math.max(rounds * lanes.length, Math.ceil(perMillisecond * milliseconds));
    const usedBefore = usedMicroseconds();
    const startedAt = performance.now();
    await perform(lanes, tasks);
    perMillisecond = tasks / (performance.now() - startedAt);
    const used = (usedMicroseconds() - usedBefore) / tasks;
    await toEventLoop();
    return { perSecond: perMillisecond * 1_000, used };
  };
  do await sample(Math.min(10, sampleMilliseconds));
  while (performance.now() < warmUpEnds);

  const perSecond: number[] = [];
  const processorTime: number[] = [];
  const latest = performance.now() + mostOverrun * samples * sampleMilliseconds;
  do {
    const found = await sample(sampleMilliseconds);
    perSecond.push(found.perSecond);
    processorTime.push(found.used);
  } while (perSecond.length < samples && performance.now() < latest);
  return { perSecond, processorTime };
}

async function perform(lanes: readonly Lane[], tasks: number): Promise<void> {
  let left = tasks;
  let answered = 0;
  const serve = async (lane: Lane) => {
    while (left > 0) {
      left -= 1;
      lane.check(await lane.ask());
      answered += 1;
    }
  };
  await Promise.all(lanes.map(serve));
  if (answered !== tasks) throw new Error(`answered ${answered} of ${tasks} tasks`);
}

/** Returns to the event loop, as any program does now and then; some pools clean up only there. */
function toEventLoop(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
