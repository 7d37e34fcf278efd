import { workerData } from 'node:worker_threads';
import type { ThreadAlone } from '../floors/threads-alone.js';
import { spin } from '../tasks/functions.js';

const { counts, word, turns } = workerData as ThreadAlone;
for (;;) {
  spin(turns);
  Atomics.add(counts, word, 1);
}
