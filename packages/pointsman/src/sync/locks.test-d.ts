/** The types of RwLock, Notify, Condition, Barrier and Latch. */
import { expectTypeOf, test } from 'vitest';
import {
  Barrier,
  type BarrierWaitResult,
  Condition,
  KeyedRwLock,
  Latch,
  Mutex,
  type NameOptions,
  Notify,
  type Permit,
  type QueueOptions,
  RwLock,
  type WaitOptions,
  type WriteOptions,
  type WritePermit,
} from './index.js';

test('RwLock', () => {
  const lock = new RwLock({ name: 'index', maxWaiting: 10 });
  expectTypeOf(RwLock).constructorParameters.toEqualTypeOf<[options?: QueueOptions | undefined]>();
  expectTypeOf(lock.read).parameters.toEqualTypeOf<[options?: WaitOptions | undefined]>();
  expectTypeOf(lock.write).parameters.toEqualTypeOf<[options?: WriteOptions | undefined]>();
  expectTypeOf<keyof WriteOptions>().toEqualTypeOf<'priority' | 'signal' | 'timeout'>();
  expectTypeOf(lock.read()).toEqualTypeOf<Promise<Permit>>();
  expectTypeOf(lock.write()).toEqualTypeOf<Promise<WritePermit>>();
  expectTypeOf(lock.tryRead()).toEqualTypeOf<Permit | undefined>();
  expectTypeOf(lock.tryWrite()).toEqualTypeOf<WritePermit | undefined>();
  expectTypeOf<WritePermit>().toExtend<Permit>();
  expectTypeOf<Permit>().not.toExtend<WritePermit>();
  expectTypeOf<WritePermit['downgrade']>().toEqualTypeOf<() => Permit>();
  expectTypeOf(lock.runRead(async () => 1)).toEqualTypeOf<Promise<number>>();
  expectTypeOf(lock.runWrite((permit) => permit.downgrade())).toEqualTypeOf<Promise<Permit>>();
  expectTypeOf(lock).toHaveProperty('readers').toBeNumber();
  expectTypeOf(lock).toHaveProperty('writing').toBeBoolean();
  expectTypeOf(lock).toHaveProperty('waiting').toBeNumber();
  expectTypeOf(lock).toExtend<AsyncDisposable>();
  expectTypeOf<WritePermit>().toExtend<Disposable>();
  // @ts-expect-error: readers have no priority
  void lock.read({ priority: 1 });
  // @ts-expect-error: permits are made by locks only
  lock._giveBack;
});

test('KeyedRwLock', () => {
  const keyed = new KeyedRwLock<string>();
  expectTypeOf(keyed.read).parameters.toEqualTypeOf<
    [key: string, options?: WaitOptions | undefined]
  >();
  expectTypeOf(keyed.write('key')).toEqualTypeOf<Promise<WritePermit>>();
  expectTypeOf(keyed.runRead('key', () => 'result')).toEqualTypeOf<Promise<string>>();
  expectTypeOf(keyed.readersOf('key')).toBeNumber();
  expectTypeOf(keyed.isWriting('key')).toBeBoolean();
  expectTypeOf(keyed.keys()).toEqualTypeOf<IterableIterator<string>>();
  // @ts-expect-error: not a key
  void keyed.read(1);
});

test('Notify, Condition, Barrier, Latch', () => {
  expectTypeOf<NameOptions>().toEqualTypeOf<{ readonly name?: string | undefined }>();
  expectTypeOf(Notify).constructorParameters.toEqualTypeOf<[options?: NameOptions | undefined]>();
  expectTypeOf(new Notify().notified({ timeout: 1 })).toEqualTypeOf<Promise<void>>();
  expectTypeOf(new Notify().notifyOne()).toBeVoid();

  expectTypeOf(Condition).constructorParameters.toEqualTypeOf<[mutex: Mutex]>();
  const condition = new Condition(new Mutex());
  expectTypeOf(condition.wait).parameters.toEqualTypeOf<
    [lock: Permit, options?: WaitOptions | undefined]
  >();
  expectTypeOf(condition.wait).returns.toEqualTypeOf<Promise<void>>();
  expectTypeOf(condition.waitFor)
    .parameter(1)
    .toEqualTypeOf<() => boolean | PromiseLike<boolean>>();

  expectTypeOf(new Barrier(2).wait()).toEqualTypeOf<Promise<BarrierWaitResult>>();
  expectTypeOf<BarrierWaitResult>().toEqualTypeOf<{ readonly isLeader: boolean }>();
  expectTypeOf(new Latch(2, { name: 'ready' }).countDown).parameters.toEqualTypeOf<
    [n?: number | undefined]
  >();
  // @ts-expect-error: a latch has no queue limit
  new Latch(2, { maxWaiting: 1 });
});
