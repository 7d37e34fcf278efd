/**
 * A store that refuses what a lost lock still wants to write: the other half of a fencing token.
 *
 * Invariant: the value at a key was written with the highest token that was ever accepted for it.
 */

import { checkInteger, invalid } from '../sync/errors.js';
import type { RedisClient } from './connection/client.js';
import { adapterOf } from './connection/clients.js';
import { slotOf, tagFor, tagOf } from './connection/slot.js';
import { RedisGuard } from './guard.js';
import { fencedSet as script } from './lua/scripts.js';

/** Where the token lies: beside the value, also in a cluster, whatever braces the key has. */
function fenceOf(key: string, prefix: string): string {
  const slot = slotOf(prefix + key);
  const fence = tagOf(key) === key ? `{${key}}:fence` : `${key}:fence`;
  return slotOf(prefix + fence) === slot ? fence : `{${tagFor(slot)}}${key}:fence`;
}

/**
 * Sets `key` to `value` in Redis, unless a higher token has written it before. Resolves to whether it
 * has. The token is kept beside the value, in `{key}:fence`; both stay until you delete them. For a
 * key with a hash tag it is `key:fence`, and for one with other braces, which in a cluster would lie
 * elsewhere, `{number}key:fence`.
 *
 * @param client The client to write with, of the same kinds as for {@link RedisMutex}.
 * @param fence The guard under which you write, or its token.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { fencedSet, RedisMutex } from 'pointsman/redis';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const mutex = new RedisMutex(client);
 * const token = await mutex.run('report', async (guard) => {
 *   console.log(await fencedSet(client, 'report', 'new', guard)); // true
 *   return guard.token;
 * });
 * console.log(await fencedSet(client, 'report', 'late', token - 1)); // false
 * console.log(await client.get('report')); // new
 * await mutex.close();
 * client.disconnect();
 * ```
 */
export async function fencedSet(
  client: RedisClient,
  key: string,
  value: string | number,
  fence: RedisGuard | number,
): Promise<boolean> {
  if (typeof key !== 'string' || key === '') throw invalid('key', key, 'a non-empty string');
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw invalid('value', value, 'a string or a number');
  }
  const token = fence instanceof RedisGuard ? fence.token : fence;
  checkInteger('fence', token, 1, Number.MAX_SAFE_INTEGER);
  const { keyPrefix, slotOf: ofCluster, eval: run } = adapterOf(client);
  const keys = [key, fenceOf(key, ofCluster ? keyPrefix : '')];
  return Number(await run(script, keys, `${value}`, `${token}`)) === 1;
}
