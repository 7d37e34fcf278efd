/** Watched primitives of every kind are reported; primitives that are not, or no longer, watched are left unchanged. */

import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  Barrier,
  Condition,
  KeyedMutex,
  KeyedRwLock,
  KeyedSemaphore,
  Latch,
  Mutex,
  Notify,
  RwLock,
  Semaphore,
} from '../sync/index.js';
import { configure, format, on, runTask, snapshot, unwatch, watch, watched } from './index.js';

const nextMacrotask = () => new Promise<void>((resolve) => setTimeout(resolve));

const all: object[] = [];

function see<Primitive extends object>(primitive: Primitive, name = 'it'): Primitive {
  all.push(primitive);
  return watched(primitive, { name });
}

afterEach(() => {
  for (const primitive of all.splice(0)) unwatch(primitive);
  expect(snapshot().primitives).toEqual([]);
});

const only = () => snapshot().primitives[0];
const counts = () => [only()?.holders.length, only()?.waiters.length];

describe('watch', () => {
  test('shows holders and waiters, with names, ages and stacks', async () => {
    const mutex = see(new Mutex(), 'ledger');
    const lock = await mutex.lock({ owner: 'ann' });
    const waiter = mutex.lock({ owner: 'bob', priority: 1 });
    expect(only()).toMatchObject({
      name: 'ledger',
      kind: 'Mutex',
      holders: [{ primitive: 'ledger', kind: 'Mutex', operation: 'lock', owner: '"ann"' }],
      waiters: [{ operation: 'lock', owner: '"bob"' }],
    });
    const [holder] = only()?.holders ?? [];
    expect(holder?.age).toBeGreaterThanOrEqual(0);
    expect(holder?.stack[0]).toMatch(/\.m?[jt]s:\d+/);
    lock.release();
    (await waiter).release();
    expect(counts()).toEqual([0, 0]);
  });

  test('gives data that survive JSON', async () => {
    const keyed = see(new KeyedSemaphore<unknown>(Number.POSITIVE_INFINITY));
    await keyed.acquire(Symbol('key'), { permits: 2 });
    const now = snapshot();
    expect(JSON.parse(JSON.stringify(now))).toEqual(now);
    expect(now.primitives[0]?.holders[0]).toMatchObject({ permits: 2, keys: ['Symbol(key)'] });
    expect(now.primitives[0]).not.toHaveProperty('limit');
  });

  test.each([
    ['release', (permit: { release(): void }) => permit.release()],
    ['a release that was read before', ({ release }: { release: () => void }) => release()],
    [
      'using',
      (permit: Disposable) => {
        using _ = permit;
      },
    ],
  ])('sees a permit come back by %s, and leaves nothing on it', async (_, giveBack) => {
    const semaphore = see(new Semaphore(3));
    const permit = await semaphore.acquire({ permits: 2 });
    expect(counts()).toEqual([1, 0]);
    giveBack(permit);
    expect(counts()).toEqual([0, 0]);
    expect(semaphore.available).toBe(3);
    expect(Object.getOwnPropertyNames(permit)).not.toContain('_giveBack');
    permit.release();
    expect(semaphore.available).toBe(3);
  });

  test('sees tries, that succeed or not', async () => {
    const mutex = see(new Mutex());
    const lock = mutex.tryLock({ owner: 1 });
    expect(mutex.tryLock()).toBeUndefined();
    expect(only()?.holders).toMatchObject([{ operation: 'tryLock', owner: '1' }]);
    lock?.release();
    expect(counts()).toEqual([0, 0]);
  });

  test('sees run, which does what it does without', async () => {
    const mutex = see(new Mutex());
    const order: string[] = [];
    const run = mutex.run((lock) => {
      order.push('in fn');
      expect(lock.released).toBe(false);
      expect(counts()).toEqual([1, 0]);
      return 'result';
    });
    order.push('run has returned');
    expect(await run).toBe('result');
    expect(order).toEqual(['in fn', 'run has returned']);
    expect(counts()).toEqual([0, 0]);
    const error = new Error('from fn');
    await expect(mutex.run(() => Promise.reject(error))).rejects.toBe(error);
    await expect(
      mutex.run(() => {
        throw error;
      }),
    ).rejects.toBe(error);
    await expect(mutex.run(null as never)).rejects.toThrow('fn must be a function');
    expect(counts()).toEqual([0, 0]);
  });

  test('sees waiters leave: by a timeout, a signal, a cancel and a close', async () => {
    const mutex = see(new Mutex());
    using _ = await mutex.lock();
    const controller = new AbortController();
    const waiters = [
      mutex.lock({ timeout: 1 }),
      mutex.lock({ signal: controller.signal }),
      mutex.run(() => {}, { signal: controller.signal }),
    ];
    expect(counts()).toEqual([1, 3]);
    await expect(waiters[0]).rejects.toThrow('1 ms');
    controller.abort('over');
    for (const waiter of waiters.slice(1)) await expect(waiter).rejects.toBe('over');
    expect(counts()).toEqual([1, 0]);
    const others = [mutex.lock(), mutex.lock(), mutex.drain()];
    expect(counts()).toEqual([1, 3]);
    mutex.cancel('cancelled');
    mutex.close('closed');
    for (const waiter of others.slice(0, 2)) await expect(waiter).rejects.toBe('cancelled');
    await expect(mutex.lock()).rejects.toBe('closed');
    await expect(mutex.lock({ timeout: -1 })).rejects.toThrow(RangeError);
    expect(counts()).toEqual([1, 1]);
  });

  test('serves in the same order as without', async () => {
    const orders = await Promise.all(
      [new Semaphore(1), see(new Semaphore(1))].map(async (semaphore) => {
        const order: number[] = [];
        const worker = async (n: number) => {
          using _ = await semaphore.acquire({ priority: n % 3 });
          order.push(n);
          await nextMacrotask();
        };
        await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(worker));
        return order;
      }),
    );
    expect(orders[1]).toEqual(orders[0]);
  });

  test('sees keys', async () => {
    const keyed = see(new KeyedMutex<string>());
    const a = await keyed.lock('a');
    const b = keyed.run('b', () => nextMacrotask());
    const waiter = keyed.lock('a');
    expect(only()?.holders.map(({ keys }) => keys)).toEqual([['"a"'], ['"b"']]);
    expect(only()?.waiters.map(({ keys }) => keys)).toEqual([['"a"']]);
    a.release();
    (await waiter).release();
    await b;
    expect(counts()).toEqual([0, 0]);
    expect(keyed.keyCount).toBe(0);
  });

  test('sees readers and writers, and a writer become a reader', async () => {
    for (const primitive of [see(new RwLock()), see(new KeyedRwLock<string>())]) {
      const args = (primitive instanceof RwLock ? [] : ['key']) as [];
      const lock = primitive as RwLock;
      const readers = [await lock.read(...args), await lock.read(...args)];
      const writer = lock.write(...args);
      expect(counts()).toEqual([2, 1]);
      for (const reader of readers) reader.release();
      const write = await writer;
      expect(only()?.holders).toMatchObject([{ operation: 'write' }]);
      using read = write.downgrade();
      expect(write.released).toBe(true);
      expect(only()?.holders).toMatchObject([{ operation: 'downgrade' }]);
      read.release();
      expect(counts()).toEqual([0, 0]);
      expect(lock.tryWrite(...args)?.release()).toBeUndefined();
      const run = [...args, () => counts()[0]] as [() => unknown];
      expect(await lock.runRead(...run)).toBe(1);
      unwatch(primitive);
    }
  });

  test('sees waiters for a call and for each other', async () => {
    const notify = see(new Notify(), 'notify');
    const latch = see(new Latch(1), 'latch');
    const barrier = see(new Barrier(2), 'barrier');
    const waits = [notify.notified(), latch.wait(), barrier.wait()];
    const waiting = () => snapshot().primitives.map(({ name, waiters }) => [name, waiters.length]);
    expect(waiting()).toEqual([
      ['notify', 1],
      ['latch', 1],
      ['barrier', 1],
    ]);
    notify.notifyOne();
    latch.countDown();
    await barrier.wait();
    await Promise.all(waits);
    expect(waiting().map(([, n]) => n)).toEqual([0, 0, 0]);
  });

  test('sees that a lock is not held while its holder waits at a condition', async () => {
    const mutex = see(new Mutex(), 'mutex');
    const condition = see(new Condition(mutex), 'condition');
    const lock = await mutex.lock();
    const woken = condition.wait(lock);
    const now = () =>
      snapshot().primitives.map(({ holders, waiters }) => [holders.length, waiters.length]);
    expect(now()).toEqual([
      [0, 0],
      [0, 1],
    ]);
    const other = await mutex.lock();
    expect(now()[0]).toEqual([1, 0]);
    condition.notify();
    other.release();
    await woken;
    expect(now()).toEqual([
      [1, 0],
      [0, 0],
    ]);
    lock.release();
    expect(now()[0]).toEqual([0, 0]);
  });

  test('takes only primitives and good options, and has no effect otherwise', () => {
    for (const bad of [undefined, null, 1, 'mutex', {}, [], () => {}, new Map()]) {
      expect(() => watch(bad as never)).toThrow('a primitive of pointsman');
    }
    const mutex = new Mutex();
    expect(() => watch(mutex, { name: 1 as never })).toThrow(TypeError);
    for (const heldTooLong of [0, -1, Number.NaN]) {
      expect(() => watch(mutex, { heldTooLong })).toThrow(RangeError);
      expect(() => configure({ heldTooLong })).toThrow(RangeError);
    }
    expect(() => on('nothing' as never, () => {})).toThrow('one of wait, acquire');
    expect(() => on('wait', 1 as never)).toThrow('listener must be a function');
    expect(() => runTask(1 as never, () => {})).toThrow('name must be a string');
    expect(() => runTask('name', 1 as never)).toThrow('fn must be a function');
    expect(Object.getOwnPropertyNames(mutex)).toEqual([]);
  });
});

describe('unwatch', () => {
  test('leaves nothing on the primitive nor on its permits, and forgets both', async () => {
    const mutex = new Mutex();
    const watching = watch(mutex, { name: 'mutex' });
    const lock = await mutex.lock();
    const waiter = mutex.lock();
    expect(Object.getOwnPropertyNames(mutex).length).toBeGreaterThan(0);
    expect(Object.keys(mutex)).toEqual([]);
    watching.unwatch();
    watching.unwatch();
    expect(Reflect.ownKeys(mutex)).toEqual([]);
    expect(Object.getOwnPropertyNames(lock)).not.toContain('_giveBack');
    expect(snapshot().primitives).toEqual([]);
    lock.release();
    (await waiter).release();
    expect(Object.getOwnPropertyNames(await waiter)).not.toContain('_giveBack');
    expect(mutex.locked).toBe(false);
  });

  test('is what the end of a block does', () => {
    const mutex = new Mutex();
    {
      using _ = watch(mutex);
      expect(only()?.name).toMatch(/^#\d+$/);
    }
    expect(snapshot().primitives).toEqual([]);
  });

  test('of a second watch, which gives another name, is that of the first', () => {
    const mutex = new Mutex();
    watch(mutex, { name: 'one' });
    const second = watch(mutex, { name: 'two' });
    expect(snapshot().primitives.map(({ name }) => name)).toEqual(['two']);
    second.unwatch();
    watch(mutex, { name: 'three' });
    second.unwatch();
    expect(snapshot().primitives.map(({ name }) => name)).toEqual(['three']);
    unwatch(mutex);
  });

  test('does not put what is not watched under anything', async () => {
    see(new Mutex());
    const mutex = new Mutex();
    const lock = await mutex.lock();
    expect(Reflect.ownKeys(mutex)).toEqual([]);
    expect(Mutex.prototype.lock).toBe(mutex.lock);
    expect(Object.getOwnPropertyNames(lock)).not.toContain('_giveBack');
    expect(counts()).toEqual([0, 0]);
  });
});

describe('events', () => {
  test('report waits, grants and releases, in this order', async () => {
    const log: string[] = [];
    const offs = (['wait', 'acquire', 'release'] as const).map((event) =>
      on(event, ({ primitive, operation }) => log.push(`${event} ${primitive} ${operation}`)),
    );
    const mutex = see(new Mutex(), 'm');
    const lock = await mutex.lock();
    const waiter = mutex.run(() => {});
    await null;
    lock.release();
    await waiter;
    for (const off of offs) off();
    mutex.tryLock()?.release();
    expect(log).toEqual([
      'acquire m lock',
      'wait m run',
      'release m lock',
      'acquire m run',
      'release m run',
    ]);
  });
});

describe('held too long', () => {
  test('is reported once, by a timer that exists only for watched holds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const told: string[] = [];
      const off = on('held-too-long', ({ primitive, age }) => told.push(`${primitive} ${age}`));
      const one = watched(new Mutex(), { name: 'one' });
      const two = watched(new Mutex(), { name: 'two' });
      all.push(one, two);
      watch(one, { heldTooLong: 100 });
      watch(two, { heldTooLong: 50 });
      const lock = await one.lock();
      vi.advanceTimersByTime(20);
      using _ = await two.lock();
      using __ = await two.lock({ timeout: 0 }).catch(() => null);
      vi.advanceTimersByTime(49);
      expect(told).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(told).toEqual(['two 50']);
      lock.release();
      vi.advanceTimersByTime(1_000);
      expect(told).toEqual(['two 50']);
      expect(vi.getTimerCount()).toBe(0);
      off();
    } finally {
      vi.useRealTimers();
    }
  });

  test('is printed if there is no listener', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    try {
      configure({ heldTooLong: 10 });
      const mutex = see(new Mutex(), 'ledger');
      using _ = await mutex.lock();
      vi.advanceTimersByTime(10);
      expect(warn).toHaveBeenCalledOnce();
      expect(warn.mock.calls[0]?.[0]).toMatch(/^held too long: Mutex ledger, lock\(\) 10 ms ago\n/);
    } finally {
      configure({});
      warn.mockRestore();
      vi.useRealTimers();
    }
  });
});

test('format is good to read', async () => {
  const keyed = see(new KeyedSemaphore<string>(2), 'hosts');
  await keyed.acquire('a', { permits: 2 });
  void keyed.acquire('a').catch(() => {});
  const lines = format(snapshot())
    .split('\n')
    .filter((line) => !line.includes(' at '))
    .map((line) => line.replace(/\d+ ms/, '0 ms'));
  expect(lines).toEqual([
    'KeyedSemaphore hosts: 1 of 2 held, 1 waiting',
    '  held "a", acquire() 0 ms ago, 2 permits',
    '  waiting "a", acquire() 0 ms ago',
  ]);
  keyed.cancel();
});
