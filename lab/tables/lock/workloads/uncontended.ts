/** No contention: one task locks and unlocks one key repeatedly. */
import type { Samples } from '../../../harness/table.js';
import { Judge } from '../judge.js';
import type { LockClient } from '../subject.js';

const pairs = 200;

/** Microseconds for one lock and one unlock. */
export async function lockAndUnlock(client: LockClient, keys: string[]): Promise<Samples> {
  const judge = new Judge();
  const usedBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (let pair = 0; pair < pairs; pair++) {
    const held = await client.lock(keys);
    await judge.turn(undefined);
    await client.unlock(held);
  }
  const taken = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(usedBefore);
  judge.check(pairs);
  return {
    uncontended: (taken * 1_000) / pairs,
    'uncontended processor time': (user + system) / pairs,
  };
}
