/**
 * A lock with a common mistake, to prove that the judge detects it. The time to live is counted from the reply, not
 * from the request, and the client never checks whether the lock still exists when the reply arrives. The server
 * counts tokens up by one.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Lock, Setting } from './subject.js';

const take = `
for _, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then return 0 end
end
local token = redis.call('INCR', 'unchecked:token')
for _, key in ipairs(KEYS) do
  redis.call('SET', key, ARGV[1] .. ' ' .. token, 'PX', ARGV[2])
end
return token`;

const giveBack = `
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end`;

export default (setting: Setting): Promise<Lock> => open(setting, setting.ttl);

/** Guards report valid for `validity` milliseconds after the reply. */
export async function open({ port, ttl }: Setting, validity: number): Promise<Lock> {
  const client = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: null });
  client.on('error', () => {});
  let closed = false;
  return {
    async lock(keys, { timeout = Number.POSITIVE_INFINITY, signal } = {}) {
      const id = randomUUID();
      const giveUpAt = performance.now() + timeout;
      while (true) {
        if (closed) throw named('ClosedError');
        signal?.throwIfAborted();
        const token = Number(await client.eval(take, keys.length, ...keys, id, ttl));
        if (token > 0) return guardOf(client, keys, id, token, validity);
        if (performance.now() > giveUpAt) throw named('TimeoutError');
        await sleep(5);
      }
    },
    async query() {
      const names = (await client.keys('*')).filter((name) => name !== 'unchecked:token');
      const values = names.length > 0 ? await client.mget(names) : [];
      const held = names.map((name, index) => ({
        keys: [name],
        session: values[index]?.split(' ')[0] ?? '',
        token: Number(values[index]?.split(' ')[1]),
      }));
      return { held, waiting: [] };
    },
    async close() {
      closed = true;
      await client.del('unchecked:token').catch(() => {});
      client.disconnect();
    },
  };
}

function guardOf(
  client: Redis,
  keys: readonly string[],
  id: string,
  token: number,
  validity: number,
) {
  const validUntil = performance.now() + validity;
  const loss = new AbortController();
  const timer = setTimeout(() => loss.abort(), validity);
  return {
    token,
    get valid() {
      return performance.now() < validUntil;
    },
    signal: loss.signal,
    async release() {
      clearTimeout(timer);
      await client.eval(giveBack, keys.length, ...keys, `${id} ${token}`);
    },
  };
}

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}
