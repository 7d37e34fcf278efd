/** Turns that last a round trip to the server, so that a turn that begins too early is always detected. */
import type { Redis } from 'ioredis';
import { within } from '../../../harness/watch.js';
import { Judge } from '../judge.js';
import type { LockClient } from '../subject.js';

const tasks = 5;
const turnsEach = 2;
const patienceMilliseconds = 10_000;

export async function checkExclusion(
  client: LockClient,
  control: Redis,
  draw: () => string[],
): Promise<void> {
  const judge = new Judge();

  async function task(): Promise<void> {
    for (let turn = 0; turn < turnsEach; turn++) {
      const held = await client.lock(draw());
      await judge.turn(() => control.ping());
      await client.unlock(held);
    }
  }

  await within(
    patienceMilliseconds,
    Promise.all(Array.from({ length: tasks }, task)),
    () => `${judge.turns} of ${tasks * turnsEach} turns taken`,
  );
  judge.check(tasks * turnsEach);
}
