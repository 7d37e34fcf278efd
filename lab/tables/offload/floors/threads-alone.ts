/** The same work on a thread per core, each independently: no task is handed over, so no pool can be faster. */
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { processorTimeOf, usedMicroseconds } from '../../../harness/sample.js';
import type { Samples, Subject } from '../../../harness/table.js';

export const threadsAlone: Subject = {
  name: 'threads alone',
  role: 'floor',
  note: 'A thread per core works independently; no task is handed over.',
};

/** The data that a thread starts with. */
export interface ThreadAlone {
  /** The first is the number of turns of a task, or 0 while the threads sleep. */
  readonly words: Int32Array<SharedArrayBuffer>;
  /** The index of the word in which the thread counts its completed tasks. */
  readonly counted: number;
}

const program = new URL('../workers/alone.js', import.meta.url);
/** Words far enough apart that they share no cache line. */
const wordsApart = 32;

/** Starts the threads. Returns what measures tasks of `turns` turns. */
export function startThreads(threads: number) {
  const words = new Int32Array(new SharedArrayBuffer(4 * wordsApart * (threads + 1)));
  const counters = Array.from({ length: threads }, (_, index) => wordsApart * (index + 1));
  for (const counted of counters) {
    new Worker(program, { workerData: { words, counted } satisfies ThreadAlone });
  }
  const done = () => counters.reduce((sum, counted) => sum + Atomics.load(words, counted), 0);
  return async (measure: string, turns: number, milliseconds: number): Promise<Samples> => {
    const before = done();
    const usedBefore = usedMicroseconds();
    const startedAt = performance.now();
    Atomics.store(words, 0, turns);
    Atomics.notify(words, 0);
    do await pause(milliseconds);
    while (done() === before);
    const tasks = done() - before;
    const elapsed = performance.now() - startedAt;
    const used = usedMicroseconds() - usedBefore;
    Atomics.store(words, 0, 0);
    return {
      [measure]: (1_000 * tasks) / elapsed,
      [processorTimeOf(measure)]: used / tasks,
    };
  };
}
