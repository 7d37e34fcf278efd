/** The public types of the entry. */
import { describe, expectTypeOf, test } from 'vitest';
import * as entry from './index.js';
import {
  type AcquireOptions,
  ClosedError,
  KeyedMutex,
  KeyedSemaphore,
  type LockOptions,
  Mutex,
  type Permit,
  type QueueFullError,
  type QueueOptions,
  ReentrancyError,
  Semaphore,
  TimeoutError,
  type TryAcquireOptions,
  type TryLockOptions,
  type WaitOptions,
} from './index.js';

test('the entry has these values, and no others', () => {
  expectTypeOf<keyof typeof entry>().toEqualTypeOf<
    | 'Broadcast'
    | 'Channel'
    | 'Barrier'
    | 'ClosedError'
    | 'Condition'
    | 'KeyedMutex'
    | 'KeyedRwLock'
    | 'KeyedSemaphore'
    | 'LaggedError'
    | 'Latch'
    | 'Limiter'
    | 'Mutex'
    | 'Notify'
    | 'QueueFullError'
    | 'ReentrancyError'
    | 'RwLock'
    | 'Semaphore'
    | 'TimeoutError'
    | 'Watch'
    | 'retryAfter'
    | 'select'
  >();
});

describe('options', () => {
  test('of every wait', () => {
    expectTypeOf<WaitOptions>().toEqualTypeOf<{
      readonly signal?: AbortSignal | undefined;
      readonly timeout?: number | undefined;
    }>();
    expectTypeOf<AcquireOptions>().toExtend<WaitOptions>();
    expectTypeOf<LockOptions>().toExtend<WaitOptions>();
  });

  test('of each request', () => {
    expectTypeOf<keyof AcquireOptions>().toEqualTypeOf<
      'permits' | 'priority' | 'signal' | 'timeout'
    >();
    expectTypeOf<keyof TryAcquireOptions>().toEqualTypeOf<'permits' | 'priority'>();
    expectTypeOf<keyof LockOptions>().toEqualTypeOf<'owner' | 'priority' | 'signal' | 'timeout'>();
    expectTypeOf<keyof TryLockOptions>().toEqualTypeOf<'owner'>();
    expectTypeOf<LockOptions['owner']>().toBeUnknown();
  });

  test('may be given as undefined, and a member too', () => {
    const semaphore = new Semaphore(1);
    const mutex = new Mutex();
    void semaphore.acquire(undefined);
    void semaphore.acquire({ permits: undefined, priority: undefined });
    void semaphore.acquire({ signal: undefined, timeout: undefined });
    void mutex.lock({ owner: undefined, priority: undefined, signal: undefined });
    void semaphore.drain({ timeout: undefined });
  });

  test('that are wrong are refused', () => {
    const semaphore = new Semaphore(1);
    const mutex = new Mutex();
    // @ts-expect-error: a string
    void semaphore.acquire({ permits: '1' });
    // @ts-expect-error: null
    void semaphore.acquire({ timeout: null });
    // @ts-expect-error: the controller in place of its signal
    void semaphore.acquire({ signal: new AbortController() });
    // @ts-expect-error: no such option
    void semaphore.acquire({ weight: 1 });
    // @ts-expect-error: a number in place of options
    void semaphore.acquire(2);
    // @ts-expect-error: an owner is for a mutex
    void semaphore.acquire({ owner: 'me' });
    // @ts-expect-error: a try does not wait
    void semaphore.tryAcquire({ timeout: 1 });
    // @ts-expect-error: a lock is one
    void mutex.lock({ permits: 1 });
    // @ts-expect-error: a try does not wait
    void mutex.tryLock({ signal: new AbortController().signal });
    // @ts-expect-error: a drain takes no permits
    void semaphore.drain({ permits: 1 });
  });
});

describe('Semaphore', () => {
  const semaphore = new Semaphore(1);

  test('is made with a limit', () => {
    expectTypeOf(Semaphore).toBeConstructibleWith(1);
    expectTypeOf(Semaphore).constructorParameters.toEqualTypeOf<
      [limit: number, options?: QueueOptions | undefined]
    >();
    expectTypeOf<QueueOptions>().toEqualTypeOf<{
      readonly name?: string | undefined;
      readonly maxWaiting?: number | undefined;
    }>();
    // @ts-expect-error: no such option
    new Semaphore(1, { capacity: 1 });
  });

  test('has these members, and no others', () => {
    expectTypeOf<keyof Semaphore>().toEqualTypeOf<
      | typeof Symbol.asyncDispose
      | 'acquire'
      | 'available'
      | 'cancel'
      | 'close'
      | 'closed'
      | 'drain'
      | 'idle'
      | 'limit'
      | 'run'
      | 'shutdown'
      | 'tryAcquire'
      | 'waiting'
    >();
    expectTypeOf(semaphore.available).toBeNumber();
    expectTypeOf(semaphore.waiting).toBeNumber();
    expectTypeOf(semaphore.closed).toBeBoolean();
    expectTypeOf(semaphore.idle).toBeBoolean();
  });

  test('only its limit can be set', () => {
    semaphore.limit = 2;
    expectTypeOf(semaphore.limit).toBeNumber();
    // @ts-expect-error: only read
    semaphore.available = 2;
    // @ts-expect-error: only read
    semaphore.waiting = 2;
    // @ts-expect-error: only read
    semaphore.closed = true;
  });

  test('grants permits', () => {
    expectTypeOf(semaphore.acquire()).toEqualTypeOf<Promise<Permit>>();
    expectTypeOf(semaphore.tryAcquire()).toEqualTypeOf<Permit | undefined>();
    expectTypeOf(semaphore.drain()).toEqualTypeOf<Promise<void>>();
    expectTypeOf(semaphore.close).parameters.toEqualTypeOf<[reason?: unknown]>();
    expectTypeOf(semaphore.close()).toBeVoid();
  });

  test('run has the type of what fn gives in the end', () => {
    expectTypeOf(semaphore.run(() => 1)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(semaphore.run(async () => 'text')).toEqualTypeOf<Promise<string>>();
    expectTypeOf(semaphore.run(() => {})).toEqualTypeOf<Promise<void>>();
    expectTypeOf(semaphore.run(() => ({}) as PromiseLike<Date>)).toEqualTypeOf<Promise<Date>>();
    expectTypeOf(semaphore.run(() => (Math.random() > 2 ? 1 : Promise.resolve(1)))).toEqualTypeOf<
      Promise<number>
    >();
    expectTypeOf(
      semaphore.run((): never => {
        throw new Error('always');
      }),
    ).toEqualTypeOf<Promise<never>>();
    expectTypeOf(semaphore.run((permit) => permit)).toEqualTypeOf<Promise<Permit>>();
    // @ts-expect-error: not a function
    void semaphore.run(Promise.resolve());
  });
});

describe('Permit', () => {
  test('has these members, and no others', () => {
    expectTypeOf<keyof Permit>().toEqualTypeOf<
      'permits' | 'release' | 'released' | typeof Symbol.dispose
    >();
    expectTypeOf<Permit['permits']>().toBeNumber();
    expectTypeOf<Permit['released']>().toBeBoolean();
    expectTypeOf<ReturnType<Permit['release']>>().toBeVoid();
    expectTypeOf<Permit>().toExtend<Disposable>();
  });

  test('cannot be changed, made or awaited', () => {
    const permit = {} as Permit;
    // @ts-expect-error: only read
    permit.permits = 2;
    // @ts-expect-error: only read
    permit.released = true;
    // @ts-expect-error: a type, because only a semaphore makes permits
    void entry.Permit;
    expectTypeOf<Awaited<Permit>>().toEqualTypeOf<Permit>();
  });

  test('has a release that needs no object', async () => {
    const { release } = await new Semaphore(1).acquire();
    expectTypeOf(release).toEqualTypeOf<() => void>();
    void Promise.resolve(1).finally(release);
  });

  test('can be used', async () => {
    using one = await new Semaphore(1).acquire();
    using other = new Semaphore(1).tryAcquire();
    expectTypeOf(one).toEqualTypeOf<Permit>();
    expectTypeOf(other).toEqualTypeOf<Permit | undefined>();
  });
});

describe('Mutex', () => {
  const mutex = new Mutex();

  test('has these members, and no others', () => {
    expectTypeOf(Mutex).constructorParameters.toEqualTypeOf<[options?: QueueOptions | undefined]>();
    expectTypeOf<keyof Mutex>().toEqualTypeOf<
      | typeof Symbol.asyncDispose
      | 'assertHeldBy'
      | 'cancel'
      | 'close'
      | 'closed'
      | 'drain'
      | 'lock'
      | 'locked'
      | 'owner'
      | 'run'
      | 'shutdown'
      | 'tryLock'
      | 'waiting'
    >();
    expectTypeOf(mutex.locked).toBeBoolean();
    expectTypeOf(mutex.owner).toBeUnknown();
    // @ts-expect-error: only read
    mutex.owner = 'me';
  });

  test('grants permits', () => {
    expectTypeOf(mutex.lock({ owner: {} })).toEqualTypeOf<Promise<Permit>>();
    expectTypeOf(mutex.tryLock({ owner: 'me' })).toEqualTypeOf<Permit | undefined>();
    expectTypeOf(mutex.run(() => 1, { owner: 1n })).toEqualTypeOf<Promise<number>>();
    expectTypeOf(mutex.assertHeldBy).parameters.toEqualTypeOf<[lock: Permit]>();
    expectTypeOf(mutex.assertHeldBy).returns.toBeVoid();
    // @ts-expect-error: a promise of a lock is none
    mutex.assertHeldBy(mutex.lock());
  });
});

test('a primitive can be disposed of with `await using`', async () => {
  await using semaphore = new Semaphore(1, { name: 'connections', maxWaiting: 2 });
  await using mutex = new Mutex({ name: 'file', maxWaiting: undefined });
  await using _keyed = new KeyedMutex<string>({ maxWaiting: Number.POSITIVE_INFINITY });
  expectTypeOf(semaphore.cancel).toEqualTypeOf<(reason?: unknown) => void>();
  // @ts-expect-error: a mutex has one permit
  void mutex.lock({ permits: 1 });
});

describe('the keyed forms', () => {
  const keyed = new KeyedMutex<'a' | 'b'>();
  const counted = new KeyedSemaphore<number>(1);

  test('have these members, and no others', () => {
    expectTypeOf(KeyedMutex).constructorParameters.toEqualTypeOf<
      [options?: QueueOptions | undefined]
    >();
    expectTypeOf(KeyedSemaphore).constructorParameters.toEqualTypeOf<
      [limit: number, options?: QueueOptions | undefined]
    >();
    type Common =
      | typeof Symbol.asyncDispose
      | (
          | 'cancel'
          | 'close'
          | 'closed'
          | 'drain'
          | 'idle'
          | 'keyCount'
          | 'keys'
          | 'run'
          | 'shutdown'
        )
      | ('waiting' | 'waitingFor');
    expectTypeOf<keyof KeyedMutex<string>>().toEqualTypeOf<
      | Common
      | ('assertHeldBy' | 'isLocked' | 'lock' | 'ownerOf' | 'tryLock')
      | ('lockAll' | 'runAll' | 'tryLockAll')
    >();
    expectTypeOf<keyof KeyedSemaphore<string>>().toEqualTypeOf<
      Common | 'acquire' | 'availableFor' | 'limit' | 'tryAcquire'
    >();
  });

  test('without a type argument accept strings, numbers and symbols, but no options in place of a key', () => {
    const untyped = new KeyedMutex();
    expectTypeOf(untyped.lock('a')).toEqualTypeOf<Promise<Permit>>();
    void untyped.lock(1);
    void untyped.lock(Symbol.iterator);
    // @ts-expect-error: options, and no key
    void untyped.lock({ timeout: 10 });
    // @ts-expect-error: options, and no key
    void new KeyedSemaphore(1).acquire({ permits: 1 });
  });

  test('take keys of their type only', () => {
    expectTypeOf(keyed.lock('a')).toEqualTypeOf<Promise<Permit>>();
    expectTypeOf(keyed.tryLock('b')).toEqualTypeOf<Permit | undefined>();
    expectTypeOf(keyed.run('a', async () => 1)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(keyed.keys()).toEqualTypeOf<IterableIterator<'a' | 'b'>>();
    expectTypeOf(counted.acquire(1, { permits: 1 })).toEqualTypeOf<Promise<Permit>>();
    expectTypeOf(counted.availableFor(1)).toBeNumber();
    // @ts-expect-error: no such key
    void keyed.lock('c');
    // @ts-expect-error: no such key
    keyed.waitingFor('c');
    // @ts-expect-error: a string is no number
    void counted.acquire('1');
    // @ts-expect-error: the limit of all keys stays
    counted.limit = 2;
    // @ts-expect-error: a key that is missing
    void keyed.run(() => 1);
  });
});

test('the errors are errors, each with a name of its own', () => {
  expectTypeOf<TimeoutError>().toExtend<Error>();
  expectTypeOf<ClosedError>().toExtend<Error>();
  expectTypeOf<ReentrancyError>().toExtend<Error>();
  expectTypeOf<TimeoutError['name']>().toEqualTypeOf<'TimeoutError'>();
  expectTypeOf<ClosedError['name']>().toEqualTypeOf<string>();
  expectTypeOf<QueueFullError['name']>().toEqualTypeOf<'QueueFullError'>();
  expectTypeOf<ReentrancyError['name']>().toEqualTypeOf<'ReentrancyError'>();
  expectTypeOf<ReentrancyError['owner']>().toBeUnknown();
  expectTypeOf(new TimeoutError('late')).toEqualTypeOf<TimeoutError>();
  expectTypeOf(new ClosedError('closed')).toEqualTypeOf<ClosedError>();
  expectTypeOf(new ReentrancyError('held', 'owner')).toEqualTypeOf<ReentrancyError>();
});
