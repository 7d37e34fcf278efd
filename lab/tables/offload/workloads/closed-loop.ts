/**
 * Tasks in a closed loop: a fixed number in flight, each followed by the next.
 *
 * Invariant: a slice times a number of tasks, all answered and checked. The number is at least `rounds` times that in
 * flight, so that filling and draining the pool count little.
 */
import type { Condition } from '../../../harness/condition.js';
import { processorTimeOf, usedMicroseconds } from '../../../harness/sample.js';
import type { Lab, Samples, Slice } from '../../../harness/table.js';

/** A place in the loop: it sends a task, and checks the answer before it sends the next. */
export interface Lane {
  ask(): Promise<unknown>;
  /** Throws if the answer is wrong. */
  check(answer: unknown): void;
}

export interface Loop {
  /** The measure of its tasks per second. `processorTimeOf` it is the measure of a task's processor time. */
  readonly measure: string;
  readonly condition: Condition;
  readonly lanes: readonly Lane[];
}

const rounds = 2;
/** Processor time of all loops together, and at least of each, because a wait compiles nothing. */
const warmUpMicroseconds = { together: 400_000, each: 100_000 };
/** Of a loop whose tasks hardly use the processor. */
const mostWarmUpMilliseconds = 1_000;

export function isLoopWanted(lab: Lab, measure: string): boolean {
  return lab.isWanted(measure) || lab.isWanted(processorTimeOf(measure));
}

/** Warms up the loops, and serves a slice of each. */
export async function serveLoops(loops: readonly Loop[], lab: Lab): Promise<void> {
  const slices = loops.map(sliceOf);
  const { together, each } = warmUpMicroseconds;
  for (const slice of slices) {
    const enough = usedMicroseconds() + Math.max(each, together / slices.length);
    const latest = performance.now() + mostWarmUpMilliseconds;
    do await slice.run(10);
    while (usedMicroseconds() < enough && performance.now() < latest);
  }
  await lab.serve(slices);
}

export function sliceOf({ measure, condition, lanes }: Loop): Slice {
  let perMillisecond = 0;
  return {
    name: measure,
    condition,
    async run(milliseconds): Promise<Samples> {
      const tasks = Math.max(rounds * lanes.length, Math.ceil(perMillisecond * milliseconds));
      const usedBefore = usedMicroseconds();
      const startedAt = performance.now();
      await perform(lanes, tasks);
      perMillisecond = tasks / (performance.now() - startedAt);
      const used = usedMicroseconds() - usedBefore;
      await toEventLoop();
      return {
        [measure]: perMillisecond * 1_000,
        [processorTimeOf(measure)]: used / tasks,
      };
    },
  };
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
