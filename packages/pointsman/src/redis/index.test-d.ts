/** The public types. */
import { Cluster, Redis } from 'ioredis';
import ioredis5 from 'ioredis-5';
import {
  createClient,
  createClientPool,
  createCluster,
  createSentinel,
  type RedisClientType,
  type RedisClusterType,
} from 'redis';
import * as redis5 from 'redis-5';
import { describe, expectTypeOf, test } from 'vitest';
import type { SharedGuard } from '../shared/index.js';
import type * as entry from './index.js';
import {
  fencedSet,
  type RedisClient,
  type RedisOptions,
  redis,
  type Store,
  type StoreOptions,
} from './index.js';

declare const guard: SharedGuard;

test('the entry has these values, and no others', () => {
  expectTypeOf<keyof typeof entry>().toEqualTypeOf<'fencedSet' | 'redis'>();
});

describe('clients', () => {
  test('of both libraries, with all options', () => {
    const clients: RedisClient[] = [
      new Redis({ lazyConnect: true }),
      new Redis({ lazyConnect: true, protocol: 3, replyMapping: 'resp3' }),
      new Cluster([]),
      new ioredis5.default({ lazyConnect: true }),
      new ioredis5.default.Cluster([]),
      createClient(),
      createClient({ RESP: 2, modules: {}, scripts: {}, functions: {} }),
      createClient().withTypeMapping({ 36: Buffer }),
      createCluster({ rootNodes: [] }),
      createClientPool(),
      createSentinel({ name: 'x', sentinelRootNodes: [] }),
      redis5.createClientPool(),
      redis5.createSentinel({ name: 'x', sentinelRootNodes: [] }),
      redis5.createClient(),
      redis5.createClient({ RESP: 3 }),
      redis5.createCluster({ rootNodes: [] }),
    ];
    for (const client of clients) {
      redis(client);
      void fencedSet(client, 'key', 'value', 1);
    }
    expectTypeOf<RedisClientType>().toExtend<RedisClient>();
    expectTypeOf<RedisClusterType>().toExtend<RedisClient>();
    expectTypeOf<redis5.RedisClientType>().toExtend<RedisClient>();
    expectTypeOf<redis5.RedisClientType<redis5.RedisModules>>().toExtend<RedisClient>();
  });

  test('and nothing else', () => {
    // @ts-expect-error
    redis('redis://localhost');
    // @ts-expect-error
    redis({});
    // @ts-expect-error
    redis(Redis);
    // @ts-expect-error
    redis(new Redis().pipeline());
    // @ts-expect-error
    redis(new Map());
    // @ts-expect-error
    redis({ url: 'redis://localhost' });
    // @ts-expect-error
    void fencedSet('redis://localhost', 'key', 'value', 1);
  });
});

test('options of the store', () => {
  expectTypeOf<keyof RedisOptions>().toEqualTypeOf<keyof StoreOptions | 'handler'>();
  expectTypeOf<RedisOptions>().toExtend<StoreOptions>();
  expectTypeOf<RedisOptions['handler']>().toEqualTypeOf<'script' | 'pure' | undefined>();
  expectTypeOf(redis(createClient())).toEqualTypeOf<Store>();
  redis(createClient(), { ttl: undefined, handler: 'pure' });
  // @ts-expect-error
  redis(createClient(), { handler: 'lua' });
  // @ts-expect-error
  redis(createClient(), { mode: 'strict' });
  // @ts-expect-error
  redis();
});

test('fencedSet takes a guard or its token', () => {
  const client = createClient();
  expectTypeOf(fencedSet(client, 'key', 'value', guard)).toEqualTypeOf<Promise<boolean>>();
  expectTypeOf(fencedSet(client, 'key', 1, 1)).toEqualTypeOf<Promise<boolean>>();
  // @ts-expect-error
  void fencedSet(client, 'key', {}, 1);
  // @ts-expect-error
  void fencedSet(client, 'key', 'value');
});
