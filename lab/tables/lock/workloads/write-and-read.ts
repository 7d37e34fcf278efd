/**
 * The document's test 2: 100 tasks sleep, lock, then set, increment, read and delete one value with four commands in
 * turn on a connection they share, and unlock. They begin turns for a time; the test ends when the last task ends.
 *
 * Each task has its own delay of 1.01 to 2.00 ms. Node's timers round it down to whole milliseconds, which changes
 * nothing here: with 100 tasks there are always waiters.
 *
 * The document's time is 5 s. A shorter run is scaled to it: the turns that end within its time count in proportion,
 * and the last turn of each task counts unscaled.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { shuffle } from 'simple-statistics';
import { within } from '../../../harness/watch.js';
import { Judge } from '../judge.js';
import type { LockClient } from '../subject.js';
import { fairness, slowestWaits } from './fairness.js';

export interface Written {
  /** Turns in 5 s, and until the last task ends. */
  readonly count: number;
  /** 5 s, and the time until the last task ends. */
  readonly seconds: number;
  /** The number of turns actually taken. */
  readonly turns: number;
  readonly p99: number;
  readonly longest: number;
  readonly fairness: number;
}

export const commandsPerTurn = 4;
const tasks = 100;
const documentMilliseconds = 5_000;
/** The limit of the last turns; the document's took up to 0.9 s. */
const patienceMilliseconds = 5_000;

export async function writeAndRead(
  client: LockClient,
  connection: Redis,
  draw: () => string[],
  { key, milliseconds }: { readonly key: string; readonly milliseconds: number },
): Promise<Written> {
  const judge = new Judge();
  const waits: number[] = [];
  const shares = new Array<number>(tasks).fill(0);
  const delays = shuffle(shares.map((_, index) => 1.01 + index / 100));
  const endsAt = performance.now() + milliseconds;
  let afterwards = 0;

  async function change(): Promise<void> {
    const value = Math.floor(Math.random() * 1_000_000);
    await connection.set(key, value);
    const increased = await connection.incr(key);
    const read = await connection.get(key);
    await connection.del(key);
    if (increased !== value + 1 || read !== String(value + 1)) {
      throw new Error(`wrote ${value}, and read ${read} after one increment`);
    }
  }

  async function task(index: number): Promise<void> {
    while (performance.now() < endsAt) {
      await sleep(delays[index]);
      const keys = draw();
      const askedAt = performance.now();
      const held = await client.lock(keys);
      waits.push(performance.now() - askedAt);
      await judge.turn(change);
      await client.unlock(held);
      shares[index] = (shares[index] ?? 0) + 1;
      if (performance.now() >= endsAt) afterwards += 1;
    }
  }

  await within(
    milliseconds + patienceMilliseconds,
    Promise.all(shares.map((_, index) => task(index))),
    () => `${tasks} tasks had not all ended, with ${judge.turns} turns taken,`,
  );
  const cooling = performance.now() - endsAt;
  const turns = waits.length;
  judge.check(turns);
  return {
    count: ((turns - afterwards) * documentMilliseconds) / milliseconds + afterwards,
    seconds: (documentMilliseconds + cooling) / 1_000,
    turns,
    ...slowestWaits(Float64Array.from(waits)),
    fairness: fairness(shares),
  };
}
