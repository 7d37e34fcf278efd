/** The public types. */
import { describe, expectTypeOf, test } from 'vitest';
import type * as entry from './index.js';
import {
  ClosedError,
  type Durations,
  type HeldLock,
  type LockKeysOptions,
  LockLostError,
  type ReentrancyError,
  type SharedCondition,
  type SharedGuard,
  SharedMutex,
  type SharedMutexMetrics,
  type SharedMutexOptions,
  type Store,
  StoreError,
  type StoreOptions,
  TimeoutError,
  type TryLockKeysOptions,
  type WaitingLock,
  type WaitOptions,
} from './index.js';

declare const store: Store;
declare const mutex: SharedMutex;
declare const guard: SharedGuard;
declare const condition: SharedCondition;

test('the entry has these values, and no others', () => {
  expectTypeOf<keyof typeof entry>().toEqualTypeOf<
    | 'ClosedError'
    | 'Leader'
    | 'LockLostError'
    | 'QueueFullError'
    | 'ReentrancyError'
    | 'StoreError'
    | 'SharedLimiter'
    | 'SharedMutex'
    | 'SharedRwLock'
    | 'SharedSemaphore'
    | 'TimeoutError'
    | 'expressRateLimitStore'
    | 'fastifyRateLimitStore'
  >();
});

describe('options', () => {
  test('of the mutex', () => {
    expectTypeOf<SharedMutexOptions>().toEqualTypeOf<{
      readonly mode?: 'local' | 'strict' | undefined;
      readonly name?: string | undefined;
    }>();
    new SharedMutex(store);
    new SharedMutex(store, { mode: 'strict', name: undefined });
    // @ts-expect-error
    new SharedMutex(store, { mode: 'fair' });
    // @ts-expect-error
    new SharedMutex(store, { ttl: 1_000 });
    // @ts-expect-error
    new SharedMutex({});
    // @ts-expect-error
    new SharedMutex();
  });

  test('of every store', () => {
    expectTypeOf<StoreOptions>().toEqualTypeOf<{
      readonly namespace?: string | undefined;
      readonly ttl?: number | undefined;
      readonly name?: string | undefined;
    }>();
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
    expectTypeOf(mutex.lock).returns.toEqualTypeOf<Promise<SharedGuard>>();
    expectTypeOf(mutex.tryLock).returns.toEqualTypeOf<Promise<SharedGuard | undefined>>();
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
    expectTypeOf<keyof SharedGuard>().toEqualTypeOf<
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

test('a mutex is disposable', () => {
  expectTypeOf(mutex).toExtend<AsyncDisposable>();
  expectTypeOf(mutex.close()).toEqualTypeOf<Promise<void>>();
  expectTypeOf(mutex.close).parameter(0).toBeUnknown();
  expectTypeOf(mutex.closed).toBeBoolean();
});

test('a store is disposable, and has child stores', () => {
  expectTypeOf(store).toExtend<AsyncDisposable>();
  expectTypeOf(store.withNamespace('other')).toEqualTypeOf<Store>();
  expectTypeOf(store.close()).toEqualTypeOf<Promise<void>>();
  expectTypeOf(store.close).parameter(0).toBeUnknown();
  expectTypeOf(store.namespace).toBeString();
  expectTypeOf(store.ttl).toBeNumber();
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
    readonly weight?: number | undefined;
  }>();
  expectTypeOf<WaitingLock>().toEqualTypeOf<{
    readonly keys: readonly string[];
    readonly session: string;
    readonly id: string | undefined;
    readonly condition: string | undefined;
  }>();
  expectTypeOf(mutex.metrics).toEqualTypeOf<SharedMutexMetrics>();
  expectTypeOf<SharedMutexMetrics['wait']>().toEqualTypeOf<Durations>();
});

test('conditions', () => {
  expectTypeOf(mutex.condition('c')).toEqualTypeOf<SharedCondition>();
  expectTypeOf(condition.name).toBeString();
  expectTypeOf(condition.wait(guard, { timeout: 1, signal: guard.signal })).toEqualTypeOf<
    Promise<boolean>
  >();
  // @ts-expect-error
  void condition.wait();
  expectTypeOf(condition.notify()).toEqualTypeOf<Promise<number>>();
  expectTypeOf(condition.notifyAll()).toEqualTypeOf<Promise<number>>();
});

test('errors are distinguished by name and by class', () => {
  expectTypeOf<LockLostError['name']>().toEqualTypeOf<'LockLostError'>();
  expectTypeOf<StoreError['name']>().toEqualTypeOf<'StoreError'>();
  expectTypeOf<TimeoutError['name']>().toEqualTypeOf<'TimeoutError'>();
  expectTypeOf<ClosedError['name']>().toEqualTypeOf<string>();
  expectTypeOf<ReentrancyError['owner']>().toBeUnknown();
  for (const kind of [LockLostError, StoreError, TimeoutError, ClosedError]) {
    expectTypeOf(new kind('message')).toExtend<Error>();
  }
});
