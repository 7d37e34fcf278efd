/**
 * A store that refuses what a lost lock still wants to write: the other half of a fencing token.
 *
 * Invariant: the value at a key was written with the highest token that was ever accepted for it.
 */

import { checkInteger, invalid } from '../sync/errors.js';
import { callOn } from './connection/clients.js';
import { RedisGuard } from './guard.js';
import { fencedSet as script } from './lua/scripts.js';

const fenceOf = (key: string): string =>
  /\{[^}]+\}/.test(key) ? `${key}:fence` : `{${key}}:fence`;

/**
 * Sets `key` to `value` in Redis, unless a higher token has written it before. Resolves to whether it
 * has. The token is kept beside the value, in `{key}:fence`; both stay until you delete them.
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
  client: unknown,
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
  const keys = [key, fenceOf(key)];
  const command = ['EVAL', script, '2', ...keys, `${value}`, `${token}`];
  return Number(await callOn(client, key, command)) === 1;
}
