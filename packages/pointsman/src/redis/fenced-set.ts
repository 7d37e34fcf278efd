/**
 * A write with a fencing token: the storage side of a lock.
 *
 * Invariant: the value of a key was written with the highest token accepted for it. Both are in one hash, so neither can
 * expire, be evicted or be overwritten without the other.
 */

import { SharedGuard } from '../shared/acquisition.js';
import { isTorn } from '../shared/options.js';
import { checkInteger, invalid } from '../sync/errors.js';
import type { RedisClient } from './connection/client.js';
import { adapterOf } from './connection/clients.js';
import { fencedSet as script } from './lua/scripts.js';

/**
 * Sets the value of `key` in Redis, unless a higher token has set it before. Resolves to whether it was set.
 *
 * The key is a hash with the fields `value`, as text, and `fence`, the token. Read the value with `HGET key value`. The
 * key keeps its time to live. When it is deleted or expires, any token can set it again.
 *
 * Runs a Lua script on the client itself.
 *
 * @param client A client of the same kinds as for {@link redis}.
 * @param key A non-empty, well-formed string.
 * @param value A well-formed string, or a number.
 * @param fence The guard of the lock on `key` under which you write. For a lock on other keys, pass its token.
 * @throws {TypeError | RangeError} if an argument is invalid, such as a guard that has been released or does not lock
 * `key`. If the server replies with an error, the promise rejects with it, and nothing is written: `WRONGTYPE` if the key
 * is not such a hash.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { fencedSet, redis } from 'pointsman/redis';
 * import { SharedMutex } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const mutex = new SharedMutex(redis(client));
 * const token = await mutex.run('report', async (guard) => {
 *   console.log(await fencedSet(client, 'report', 'new', guard)); // true
 *   return guard.token;
 * });
 * console.log(await fencedSet(client, 'report', 'late', token - 1)); // false
 * console.log(await client.hget('report', 'value')); // new
 * await mutex.close();
 * client.disconnect();
 * ```
 */
export async function fencedSet(
  client: RedisClient,
  key: string,
  value: string | number,
  fence: SharedGuard | number,
): Promise<boolean> {
  if (typeof key !== 'string' || key === '' || isTorn(key)) {
    throw invalid('key', key, 'a non-empty, well-formed string');
  }
  if (typeof value === 'string' ? isTorn(value) : typeof value !== 'number') {
    throw invalid('value', value, 'a well-formed string or a number');
  }
  const token = fence instanceof SharedGuard ? tokenOf(fence, key) : fence;
  checkInteger('fence', token, 1, Number.MAX_SAFE_INTEGER);
  return Number(await adapterOf(client).eval(script, [key], `${value}`, `${token}`)) === 1;
}

function tokenOf(guard: SharedGuard, key: string): number {
  if (guard.released) throw invalid('fence', guard, 'a guard that has not been released');
  if (!guard.keys.includes(key)) {
    throw new TypeError(
      `fence must be a guard of ${JSON.stringify(key)} or a token, got a guard of ${JSON.stringify(guard.keys)}`,
    );
  }
  return guard.token;
}
