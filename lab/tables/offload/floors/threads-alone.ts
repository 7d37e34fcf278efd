/** The same work on a thread per core, each independently: no task is handed over, so no pool can be faster. */
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Subject } from '../../../harness/table.js';

export const threadsAlone: Subject = {
  name: 'threads alone',
  role: 'floor',
  note: 'A thread per core works independently; no task is handed over.',
};

/** The data that a thread starts with: it counts its completed work in its word. */
export interface ThreadAlone {
  readonly counts: Int32Array<SharedArrayBuffer>;
  readonly word: number;
  readonly turns: number;
}

const program = new URL('../workers/alone.js', import.meta.url);
/** Words far enough apart that they share no cache line. */
const wordsApart = 32;

/** Completed work per second, of all threads together. */
export async function measureThreadsAlone(
  threads: number,
  turns: number,
  { warmUp, sample }: { readonly warmUp: number; readonly sample: number },
): Promise<number> {
  const counts = new Int32Array(new SharedArrayBuffer(4 * wordsApart * threads));
  const workers = Array.from({ length: threads }, (_, index) => {
    const workerData: ThreadAlone = { counts, word: index * wordsApart, turns };
    return new Worker(program, { workerData });
  });
  const done = () =>
    workers.reduce((sum, _, index) => sum + Atomics.load(counts, index * wordsApart), 0);
  while (workers.some((_, index) => Atomics.load(counts, index * wordsApart) === 0)) await pause(1);
  await pause(warmUp);
  const before = done();
  const startedAt = performance.now();
  await pause(sample);
  const perSecond = (1_000 * (done() - before)) / (performance.now() - startedAt);
  await Promise.all(workers.map((worker) => worker.terminate()));
  return perSecond;
}
