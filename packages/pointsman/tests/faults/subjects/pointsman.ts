/** Ours, with either client library. */
import { Redis } from 'ioredis';
import { RedisMutex } from 'pointsman/redis';
import { createClient } from 'redis';
import type { Lock, Setting } from './subject.js';

export default async function open(setting: Setting): Promise<Lock> {
  const { port, library, ttl, handler, mode, name } = setting;
  const options = { ttl, handler, mode, name };
  if (library === 'ioredis') {
    const client = new Redis({ host: '127.0.0.1', port });
    client.on('error', () => {});
    const mutex = new RedisMutex(client, options);
    return {
      lock: (keys, terms) => mutex.lock(keys, terms),
      query: () => mutex.query(),
      async close() {
        await mutex.close();
        client.disconnect();
      },
    };
  }
  const client = createClient({ socket: { host: '127.0.0.1', port } });
  client.on('error', () => {});
  await client.connect();
  const mutex = new RedisMutex(client, options);
  return {
    lock: (keys, terms) => mutex.lock(keys, terms),
    query: () => mutex.query(),
    async close() {
      await mutex.close();
      client.destroy();
    },
  };
}
