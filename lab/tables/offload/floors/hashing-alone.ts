/** Hashes without a server, a queue or a thread: one thread's rate, times the cores. */
import { availableParallelism } from 'node:os';
import type { Subject } from '../../../harness/table.js';
import { hash } from '../tasks/functions.js';

export const hashingAlone: Subject = {
  name: 'hashing alone',
  role: 'floor',
  note: 'What one thread hashes that does nothing else, times the cores.',
};

const cost = 10;
const hashes = 15;

export function measureHashingAlone(): number {
  hash(cost);
  const startedAt = performance.now();
  for (let done = 0; done < hashes; done++) hash(cost);
  return (1_000 * hashes * availableParallelism()) / (performance.now() - startedAt);
}
