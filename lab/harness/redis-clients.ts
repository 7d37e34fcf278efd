/** Connections of the two client libraries, opened before any timing. */
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import type { Address } from './redis-server.js';

export async function connectIoredis({ host, port }: Address): Promise<Redis> {
  const { Redis } = await import('ioredis');
  const redis = new Redis({ host, port });
  await once(redis, 'ready');
  return redis;
}

export async function connectNodeRedis({ host, port }: Address) {
  const { createClient } = await import('redis');
  const redis = createClient({ socket: { host, port } });
  redis.on('error', () => {});
  await redis.connect();
  return redis;
}
