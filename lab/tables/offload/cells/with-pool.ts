/**
 * A pool for as long as it is used. Invariant: ended before the next one is made, so that its threads
 * take no part in what is measured then; but nobody waits long for one that does not end.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { OpenPool, PoolSettings, PoolSubject } from '../subject.js';

/** The end of a pool that was just busy takes some milliseconds, but poolifier's at times never comes. */
const mostEndingMilliseconds = 500;

export async function withPool<Result>(
  subject: PoolSubject,
  settings: PoolSettings,
  use: (pool: OpenPool) => Promise<Result>,
): Promise<Result> {
  const pool = await subject.open(settings);
  const result = await use(pool);
  await Promise.race([pool.end(), pause(mostEndingMilliseconds)]);
  return result;
}
