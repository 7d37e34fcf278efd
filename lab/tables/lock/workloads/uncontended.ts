/** No contention: one task locks and unlocks one key repeatedly. */
import { Judge } from '../judge.js';
import type { LockClient } from '../subject.js';

const pairs = 50;

/** Microseconds for one lock and one unlock. */
export async function lockAndUnlock(client: LockClient, keys: string[]): Promise<number> {
  const judge = new Judge();
  const startedAt = performance.now();
  for (let pair = 0; pair < pairs; pair++) {
    const held = await client.lock(keys);
    await judge.turn(undefined);
    await client.unlock(held);
  }
  const taken = performance.now() - startedAt;
  judge.check(pairs);
  return (taken * 1_000) / pairs;
}
