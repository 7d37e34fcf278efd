/** Pointsman's lock, with either client library. */
import { type RedisClient, redis } from 'pointsman/redis';
import { SharedMutex } from 'pointsman/shared';
import type { Lock, Setting } from './subject.js';

export default async function open(setting: Setting): Promise<Lock> {
  const { ttl, handler, mode, name } = setting;
  const { client, end } = await connect(setting);
  const mutex = new SharedMutex(redis(client, { ttl, handler, name }), { mode });
  return {
    lock: (keys, terms) => mutex.lock(keys, terms),
    query: () => mutex.query(),
    async close() {
      await mutex.close();
      end();
    },
  };
}

/** Loads only the library that it needs, because hundreds of processes are started. */
async function connect({ library, port }: Setting): Promise<{ client: RedisClient; end(): void }> {
  if (library === 'ioredis') {
    const { Redis } = await import('ioredis');
    const client = new Redis({ host: '127.0.0.1', port });
    client.on('error', () => {});
    return { client, end: () => client.disconnect() };
  }
  const { createClient } = await import('redis');
  const client = createClient({ socket: { host: '127.0.0.1', port } });
  client.on('error', () => {});
  await client.connect();
  return { client, end: () => client.destroy() };
}
