/** Clients of both libraries, as a program would make them; each closes with its test. */
import { Redis } from 'ioredis';
import oldest from 'ioredis-5';
import { createClient } from 'redis';
import * as redis5 from 'redis-5';
import { onTestFinished } from 'vitest';
import type { RedisClient } from '../../src/redis/index.js';

export const OldestRedis = oldest.default as never as typeof Redis;
export const createOldClient = redis5.createClient as never as typeof createClient;

/** The newest of both, the oldest supported ioredis, and the older major version of node-redis. */
export const libraries = ['ioredis', 'node-redis', 'ioredis 5.0', 'node-redis 5'] as const;
export type Library = (typeof libraries)[number];

export interface User {
  readonly username: string;
  readonly password: string;
}

export async function connect(library: Library, port: number, user?: User): Promise<RedisClient> {
  if (library === 'ioredis' || library === 'ioredis 5.0') {
    const client = new (library === 'ioredis' ? Redis : OldestRedis)({
      port,
      ...user,
      lazyConnect: true,
    });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    await client.connect();
    return client;
  }
  const create = library === 'node-redis' ? createClient : createOldClient;
  const client = create({ url: `redis://127.0.0.1:${port}`, ...user });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  await client.connect();
  return client;
}
