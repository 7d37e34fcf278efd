/**
 * The document's test 1: ten tasks share 1,000 turns. Each takes the next, locks, counts it and unlocks, without a
 * pause.
 *
 * The count is read before an `await` and written after it, so that two concurrent turns would lose one; the
 * document's own turn is a plain increment.
 */

import { within } from '../../../harness/watch.js';
import { Judge } from '../judge.js';
import type { LockClient } from '../subject.js';
import { fairness, slowestWaits } from './fairness.js';

export interface Taken {
  readonly seconds: number;
  readonly p99: number;
  readonly longest: number;
  readonly fairness: number;
}

const tasks = 10;
const patienceMilliseconds = 15_000;

export async function takeTurns(
  client: LockClient,
  draw: () => string[],
  turns: number,
): Promise<Taken> {
  const judge = new Judge();
  const waits = new Float64Array(turns);
  const shares = new Array<number>(tasks).fill(0);
  let next = 0;

  async function task(index: number): Promise<void> {
    while (next < turns) {
      const turn = next++;
      const keys = draw();
      const askedAt = performance.now();
      const held = await client.lock(keys);
      waits[turn] = performance.now() - askedAt;
      shares[index] = (shares[index] ?? 0) + 1;
      await judge.turn(undefined);
      await client.unlock(held);
    }
  }

  const startedAt = performance.now();
  await within(
    patienceMilliseconds,
    Promise.all(shares.map((_, index) => task(index))),
    () => `${judge.turns} of ${turns} turns taken`,
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  judge.check(turns);
  return { seconds, ...slowestWaits(waits), fairness: fairness(shares) };
}
