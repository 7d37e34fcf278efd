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
import type * as entry from './index.js';
import {
  ClosedError,
  type Durations,
  fencedSet,
  type HeldLock,
  type LockKeysOptions,
  LockLostError,
  type RedisClient,
  type RedisCondition,
  type RedisGuard,
  RedisLockError,
  RedisMutex,
  type RedisMutexMetrics,
  type RedisMutexOptions,
  type ReentrancyError,
  TimeoutError,
  type TryLockKeysOptions,
  type WaitingLock,
  type WaitOptions,
} from './index.js';

declare const mutex: RedisMutex;
declare const guard: RedisGuard;
declare const condition: RedisCondition;

test('the entry has these values, and no others', () => {
  expectTypeOf<keyof typeof entry>().toEqualTypeOf<
    | 'ClosedError'
    | 'LockLostError'
    | 'ReentrancyError'
    | 'RedisLockError'
    | 'RedisMutex'
    | 'TimeoutError'
    | 'fencedSet'
  >();
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
      new RedisMutex(client);
      void fencedSet(client, 'key', 'value', 1);
    }
    expectTypeOf<RedisClientType>().toExtend<RedisClient>();
    expectTypeOf<RedisClusterType>().toExtend<RedisClient>();
    expectTypeOf<redis5.RedisClientType>().toExtend<RedisClient>();
    expectTypeOf<redis5.RedisClientType<redis5.RedisModules>>().toExtend<RedisClient>();
  });

  test('and nothing else', () => {
    // @ts-expect-error
    new RedisMutex('redis://localhost');
    // @ts-expect-error
    new RedisMutex({});
    // @ts-expect-error
    new RedisMutex(Redis);
    // @ts-expect-error
    new RedisMutex(new Redis().pipeline());
    // @ts-expect-error
    new RedisMutex(new Map());
    // @ts-expect-error
    new RedisMutex({ url: 'redis://localhost' });
    // @ts-expect-error
    void fencedSet('redis://localhost', 'key', 'value', 1);
  });
});

describe('options', () => {
  test('of the mutex', () => {
    expectTypeOf<RedisMutexOptions>().toEqualTypeOf<{
      readonly namespace?: string | undefined;
      readonly ttl?: number | undefined;
      readonly handler?: 'script' | 'pure' | undefined;
      readonly mode?: 'local' | 'strict' | undefined;
      readonly name?: string | undefined;
    }>();
    new RedisMutex(new Redis({ lazyConnect: true }));
    new RedisMutex(createClient(), { ttl: undefined, mode: 'strict' });
    // @ts-expect-error
    new RedisMutex(createClient(), { mode: 'fair' });
    // @ts-expect-error
    new RedisMutex();
  });

  test('of each request', () => {
    expectTypeOf<keyof TryLockKeysOptions>().toEqualTypeOf<'maxHold' | 'owner' | 'reentrant'>();
    expectTypeOf<keyof LockKeysOptions>().toEqualTypeOf<
      'maxHold' | 'owner' | 'reentrant' | 'signal' | 'timeout'
    >();
    expectTypeOf<LockKeysOptions>().toExtend<WaitOptions>();
    expectTypeOf<LockKeysOptions>().toExtend<TryLockKeysOptions>();
    expectTypeOf<LockKeysOptions['owner']>().toBeUnknown();
    void mutex.lock('k', { signal: undefined, timeout: undefined });
    void mutex.lock('k', { owner: undefined, reentrant: undefined, maxHold: undefined });
    // @ts-expect-error
    void mutex.lock('k', { owner: 1, reentrant: 1 });
    // @ts-expect-error
    void mutex.tryLock('k', { timeout: 1 });
    // @ts-expect-error
    void mutex.lock('k', { priority: 1 });
  });
});

describe('locks', () => {
  test('take one key or a list that may be read-only', () => {
    expectTypeOf(mutex.lock).parameter(0).toEqualTypeOf<string | readonly string[]>();
    expectTypeOf(mutex.lock).returns.toEqualTypeOf<Promise<RedisGuard>>();
    expectTypeOf(mutex.tryLock).returns.toEqualTypeOf<Promise<RedisGuard | undefined>>();
    void mutex.lock(['a', 'b'] as const);
    // @ts-expect-error
    void mutex.lock(1);
    // @ts-expect-error
    void mutex.lock(new Set(['a']));
  });

  test('run resolves to the awaited result of the function', () => {
    expectTypeOf(mutex.run('k', () => 1)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(mutex.run('k', async ({ token }) => token)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(mutex.run('k', () => {})).toEqualTypeOf<Promise<void>>();
  });

  test('wrap keeps the arguments', () => {
    const wrapped = mutex.wrap(
      (name: string, _: number) => [name],
      (name, count) => `${name}${count}`,
    );
    expectTypeOf(wrapped).toEqualTypeOf<(name: string, _: number) => Promise<string>>();
    const fixed = mutex.wrap('k', async (flag: boolean) => flag, { timeout: 1 });
    expectTypeOf(fixed).toEqualTypeOf<(flag: boolean) => Promise<boolean>>();
  });

  test('a guard is read-only, and disposable', () => {
    expectTypeOf<keyof RedisGuard>().toEqualTypeOf<
      | 'assertValid'
      | 'extend'
      | 'keys'
      | 'release'
      | 'released'
      | 'signal'
      | 'token'
      | 'valid'
      | typeof Symbol.asyncDispose
    >();
    expectTypeOf(guard.keys).toEqualTypeOf<readonly string[]>();
    expectTypeOf(guard.token).toBeNumber();
    expectTypeOf(guard.signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(guard.valid).toBeBoolean();
    expectTypeOf(guard.released).toBeBoolean();
    expectTypeOf(guard.assertValid()).toBeVoid();
    expectTypeOf(guard.extend()).toEqualTypeOf<Promise<void>>();
    expectTypeOf(guard.release()).toEqualTypeOf<Promise<void>>();
    expectTypeOf(guard).toExtend<AsyncDisposable>();
    // @ts-expect-error
    guard.token = 1;
    // @ts-expect-error
    guard.valid = true;
  });
});

test('a mutex is disposable, and has child mutexes', () => {
  expectTypeOf(mutex).toExtend<AsyncDisposable>();
  expectTypeOf(mutex.withNamespace('other')).toEqualTypeOf<RedisMutex>();
  expectTypeOf(mutex.close()).toEqualTypeOf<Promise<void>>();
  expectTypeOf(mutex.close).parameter(0).toBeUnknown();
  expectTypeOf(mutex.closed).toBeBoolean();
  expectTypeOf(mutex.namespace).toBeString();
  expectTypeOf(mutex.ttl).toBeNumber();
});

test('forceUnlock resolves to the locks that were taken', () => {
  expectTypeOf(mutex.forceUnlock('k')).toEqualTypeOf<Promise<HeldLock[]>>();
  void mutex.forceUnlock(['a', 'b'] as const);
  // @ts-expect-error
  void mutex.forceUnlock();
});

test('query and metrics', () => {
  expectTypeOf(mutex.query()).toEqualTypeOf<
    Promise<{ held: HeldLock[]; waiting: WaitingLock[] }>
  >();
  expectTypeOf<HeldLock>().toEqualTypeOf<{
    readonly keys: readonly string[];
    readonly session: string;
    readonly id: string;
    readonly token: number;
  }>();
  expectTypeOf<WaitingLock>().toEqualTypeOf<{
    readonly keys: readonly string[];
    readonly session: string;
    readonly id: string | undefined;
    readonly condition: string | undefined;
  }>();
  expectTypeOf(mutex.metrics).toEqualTypeOf<RedisMutexMetrics>();
  expectTypeOf<RedisMutexMetrics['wait']>().toEqualTypeOf<Durations>();
});

test('conditions', () => {
  expectTypeOf(mutex.condition('c')).toEqualTypeOf<RedisCondition>();
  expectTypeOf(condition.name).toBeString();
  expectTypeOf(condition.wait(guard, { timeout: 1, signal: guard.signal })).toEqualTypeOf<
    Promise<boolean>
  >();
  // @ts-expect-error
  void condition.wait();
  expectTypeOf(condition.notify()).toEqualTypeOf<Promise<number>>();
  expectTypeOf(condition.notifyAll()).toEqualTypeOf<Promise<number>>();
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

test('errors are distinguished by name and by class', () => {
  expectTypeOf<LockLostError['name']>().toEqualTypeOf<'LockLostError'>();
  expectTypeOf<RedisLockError['name']>().toEqualTypeOf<'RedisLockError'>();
  expectTypeOf<TimeoutError['name']>().toEqualTypeOf<'TimeoutError'>();
  expectTypeOf<ClosedError['name']>().toEqualTypeOf<string>();
  expectTypeOf<ReentrancyError['owner']>().toBeUnknown();
  for (const kind of [LockLostError, RedisLockError, TimeoutError, ClosedError]) {
    expectTypeOf(new kind('message')).toExtend<Error>();
  }
});
