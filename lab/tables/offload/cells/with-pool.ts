/**
 * Opens a pool for a callback. Invariant: it is closed before the next pool opens, so its threads do not disturb the
 * next measurement; the wait for its end is bounded.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { OpenPool, PoolSettings, PoolSubject } from '../subject.js';

/** A pool that was just busy ends within some milliseconds, but poolifier's end sometimes never settles. */
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
