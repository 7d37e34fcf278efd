import { workerData } from 'node:worker_threads';
import type { ThreadAlone } from '../floors/threads-alone.js';
import { spin } from '../tasks/functions.js';

const { words, counted } = workerData as ThreadAlone;
for (;;) {
  Atomics.wait(words, 0, 0);
  const turns = Atomics.load(words, 0);
  if (turns === 0) continue;
  spin(turns);
  Atomics.add(words, counted, 1);
}
