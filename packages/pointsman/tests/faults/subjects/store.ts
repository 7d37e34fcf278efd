/** Pointsman's stores: on Redis with either client library, or on one machine. */
import { host } from 'pointsman/host';
import { type RedisClient, redis } from 'pointsman/redis';
import type { Store } from 'pointsman/shared';
import type { Setting } from './subject.js';

export async function open(setting: Setting): Promise<{ store: Store; end(): void }> {
  const { ttl, handler, name, directory } = setting;
  if (handler === 'host') return { store: host('faults', { ttl, name, directory }), end() {} };
  const { client, end } = await connect(setting);
  return { store: redis(client, { ttl, handler, name }), end };
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
