/** Hashes without a server, a queue or a second thread: the rate of one thread times the cores. */
import { availableParallelism } from 'node:os';
import type { Subject } from '../../../harness/table.js';
import { hash } from '../tasks/functions.js';

export const hashingAlone: Subject = {
  name: 'hashing alone',
  role: 'floor',
  note: 'The rate of one thread that only hashes, times the number of cores.',
};

const hashes = 4;

export function hashesPerSecond(cost: number): number {
  const startedAt = performance.now();
  for (let done = 0; done < hashes; done++) hash(cost);
  return (1_000 * hashes * availableParallelism()) / (performance.now() - startedAt);
}
