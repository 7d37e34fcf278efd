/** No contention: one task locks and unlocks one key repeatedly. */
import { usedMicroseconds } from '../../../harness/sample.js';
import type { Samples } from '../../../harness/table.js';
import { Judge } from '../judge.js';
import type { LockClient } from '../subject.js';

const pairs = 200;

/** Microseconds for one lock and one unlock. */
export async function lockAndUnlock(client: LockClient, keys: string[]): Promise<Samples> {
  const judge = new Judge();
  const usedBefore = usedMicroseconds();
  const startedAt = performance.now();
  for (let pair = 0; pair < pairs; pair++) {
    const held = await client.lock(keys);
    await judge.turn(undefined);
    await client.unlock(held);
  }
  const taken = performance.now() - startedAt;
  const used = usedMicroseconds() - usedBefore;
  judge.check(pairs);
  return {
    uncontended: (taken * 1_000) / pairs,
    'uncontended processor time': used / pairs,
  };
}
