/** What the keyed forms add: one lock for each key, which exists while it is held or waited for. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { dispose } from '../dispose.js';
import { ClosedError, KeyedMutex, KeyedSemaphore, type Permit, ReentrancyError } from '../index.js';

/** What both forms have in common: a lock for each key. */
interface Locks {
  readonly keyCount: number;
  readonly closed: boolean;
  lock(key: unknown, options?: object): Promise<Permit>;
  tryLock(key: unknown, options?: object): Permit | undefined;
  run<T>(key: unknown, fn: () => T | PromiseLike<T>, options?: object): Promise<T>;
  waitingFor(key: unknown): number;
  keys(): IterableIterator<unknown>;
  drain(options?: object): Promise<void>;
  close(reason?: unknown): void;
}

const forms: [string, () => Locks][] = [
  ['KeyedMutex', () => new KeyedMutex<unknown>()],
  [
    'KeyedSemaphore of 1',
    () => {
      const keyed = new KeyedSemaphore<unknown>(1);
      return Object.assign(keyed, {
        lock: (key: unknown, options?: object) => keyed.acquire(key, options),
        tryLock: (key: unknown, options?: object) => keyed.tryAcquire(key, options),
      });
    },
  ],
];

describe.each(forms)('%s', (_, create) => {
  test('keys are independent of each other', async () => {
    const locks = create();
    const a = await locks.lock('a');
    const b = await locks.lock('b');
    expect(locks.tryLock('a')).toBeUndefined();
    expect(locks.tryLock('b')).toBeUndefined();
    expect(locks.keyCount).toBe(2);
    a.release();
    expect(locks.tryLock('b')).toBeUndefined();
    expect(locks.tryLock('a')?.released).toBe(false);
    b.release();
  });

  test('each key has one holder at a time, in order', async () => {
    const locks = create();
    const inside = new Map<number, number>();
    const order = new Map<number, number[]>();
    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        locks.run(n % 3, async () => {
          const key = n % 3;
          inside.set(key, (inside.get(key) ?? 0) + 1);
          expect(inside.get(key)).toBe(1);
          order.set(key, [...(order.get(key) ?? []), n]);
          await nextMacrotask();
          inside.set(key, 0);
        }),
      ),
    );
    for (const numbers of order.values()) {
      expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
      expect(numbers).toHaveLength(10);
    }
    expect(locks.keyCount).toBe(0);
  });

  test('a key exists exactly while it is held or waited for', async () => {
    const locks = create();
    expect([locks.keyCount, ...locks.keys()]).toEqual([0]);
    const first = await locks.lock('a');
    expect([locks.keyCount, ...locks.keys()]).toEqual([1, 'a']);
    const controller = new AbortController();
    const second = locks.lock('a');
    const third = locks.lock('a', { signal: controller.signal });
    const other = await locks.lock('b');
    expect([locks.keyCount, ...locks.keys()]).toEqual([2, 'a', 'b']);
    expect([locks.waitingFor('a'), locks.waitingFor('b'), locks.waitingFor('c')]).toEqual([
      2, 0, 0,
    ]);
    first.release();
    expect([locks.keyCount, ...locks.keys()]).toEqual([2, 'a', 'b']);
    controller.abort('changed my mind');
    await expect(third).rejects.toBe('changed my mind');
    (await second).release();
    expect([locks.keyCount, ...locks.keys()]).toEqual([1, 'b']);
    other.release();
    expect([locks.keyCount, ...locks.keys()]).toEqual([0]);
  });

  test('keys are compared as a Map compares them', async () => {
    const locks = create();
    const object = {};
    const keys = ['', 'a', 0, Number.NaN, null, undefined, true, 1n, Symbol('key'), object, []];
    for (const key of keys) {
      const lock = await locks.lock(key);
      expect(locks.tryLock(key)).toBeUndefined();
      expect([locks.keyCount, ...locks.keys()]).toEqual([1, key]);
      lock.release();
    }
    const held = locks.tryLock(object);
    expect(locks.tryLock({})?.release()).toBeUndefined();
    expect(locks.tryLock('0')?.release()).toBeUndefined();
    held?.release();
    const zero = locks.tryLock(0);
    expect(locks.tryLock(-0)).toBeUndefined();
    zero?.release();
    expect(locks.keyCount).toBe(0);
  });

  test('keys can be released during an iteration over them', async () => {
    const locks = create();
    const held = new Map<unknown, Permit>();
    for (const key of ['a', 'b', 'c']) held.set(key, await locks.lock(key));
    const seen: unknown[] = [];
    for (const key of locks.keys()) {
      seen.push(key);
      held.get(key)?.release();
    }
    expect(seen).toEqual(['a', 'b', 'c']);
    expect(locks.keyCount).toBe(0);
  });

  test('a second release does not affect a later lock of the same key', async () => {
    const locks = create();
    const old = await locks.lock('a');
    old.release();
    expect(locks.keyCount).toBe(0);
    const now = await locks.lock('a');
    old.release();
    old[dispose]();
    expect(locks.keyCount).toBe(1);
    expect(locks.tryLock('a')).toBeUndefined();
    const next = locks.lock('a');
    now.release();
    now.release();
    expect(locks.tryLock('a')).toBeUndefined();
    (await next).release();
    expect(locks.keyCount).toBe(0);
  });

  test('a waiter that was granted the lock excludes others before its continuation runs', async () => {
    const locks = create();
    const first = await locks.lock('a');
    const second = locks.lock('a');
    first.release();
    // The second request is granted; its continuation has not run yet.
    expect(locks.keyCount).toBe(1);
    expect(locks.tryLock('a')).toBeUndefined();
    const third = locks.lock('a');
    (await second).release();
    expect(locks.tryLock('a')).toBeUndefined();
    (await third).release();
    expect(locks.keyCount).toBe(0);
  });

  test('after the last waiter gives up, the key is dropped with its holder', async () => {
    const locks = create();
    const held = await locks.lock('a');
    const controller = new AbortController();
    const waiter = locks.lock('a', { signal: controller.signal });
    controller.abort('changed my mind');
    expect(locks.keyCount).toBe(1);
    held.release();
    expect(locks.keyCount).toBe(0);
    await expect(waiter).rejects.toBe('changed my mind');
  });

  test('run settles with the result or error of fn, and leaves no key', async () => {
    const locks = create();
    const error = new Error('from fn');
    expect(await locks.run('a', () => locks.keyCount)).toBe(1);
    expect(await locks.run('a', async () => [...locks.keys()], {})).toEqual(['a']);
    const fail = () => {
      throw error;
    };
    for (const options of [undefined, {}]) {
      await expect(locks.run('a', fail, options)).rejects.toBe(error);
      expect(locks.keyCount).toBe(0);
      await expect(locks.run('a', async () => fail(), options)).rejects.toBe(error);
      expect(locks.keyCount).toBe(0);
    }
  });

  test.each([undefined, {}])(
    'run starts fn before it returns if the key is free: %j',
    async (options) => {
      const locks = create();
      const log: string[] = [];
      const run = locks.run('a', () => log.push('in fn'), options);
      log.push('run has returned');
      await run;
      expect(log).toEqual(['in fn', 'run has returned']);
      expect(locks.keyCount).toBe(0);
    },
  );

  test('fn can request its own key: the request waits for fn to end', async () => {
    const locks = create();
    const log: string[] = [];
    let inner: Promise<unknown> | undefined;
    await locks.run('a', () => {
      expect(locks.keyCount).toBe(1);
      expect(locks.tryLock('a')).toBeUndefined();
      inner = locks.run('a', () => log.push('inner'));
      expect(locks.waitingFor('a')).toBe(1);
      log.push('outer');
    });
    await inner;
    expect(log).toEqual(['outer', 'inner']);
    expect(locks.keyCount).toBe(0);
  });

  test('fn can throw at once: a request that it made is served', async () => {
    const locks = create();
    let inner: Promise<unknown> | undefined;
    const run = locks.run('a', () => {
      inner = locks.run('a', () => locks.keyCount);
      throw new Error('from fn');
    });
    expect(locks.keyCount).toBe(1);
    await expect(run).rejects.toThrow('from fn');
    expect(await inner).toBe(1);
    expect(locks.keyCount).toBe(0);
  });

  test('fn can use other keys', async () => {
    const locks = create();
    const result = await locks.run('a', () =>
      locks.run('b', () => locks.run('c', () => [...locks.keys()])),
    );
    expect(result).toEqual(['a', 'b', 'c']);
    expect(locks.keyCount).toBe(0);
  });

  test('a refused request leaves no key', async () => {
    const locks = create();
    const aborted = { signal: AbortSignal.abort('aborted') };
    await expect(locks.lock('a', aborted)).rejects.toBe('aborted');
    await expect(locks.run('a', () => 'never', aborted)).rejects.toBe('aborted');
    await expect(locks.lock('a', { timeout: -1 })).rejects.toThrow(RangeError);
    await expect(locks.run('a', null as never)).rejects.toThrow(TypeError);
    expect(() => locks.tryLock('a', { timeout: 1 } as never)).toThrow(TypeError);
    expect(locks.keyCount).toBe(0);
    const held = await locks.lock('a');
    await expect(locks.lock('a', aborted)).rejects.toBe('aborted');
    await expect(locks.lock('a', { timeout: 0 })).rejects.toThrow('0 ms');
    expect([locks.keyCount, locks.waitingFor('a')]).toEqual([1, 0]);
    held.release();
    expect(locks.keyCount).toBe(0);
    expect(locks.tryLock('a')?.release()).toBeUndefined();
  });

  test('reading the state of a key does not create it', () => {
    const locks = create();
    expect(locks.waitingFor('a')).toBe(0);
    if (locks instanceof KeyedMutex) {
      expect(locks.isLocked('a')).toBe(false);
      expect(locks.ownerOf('a')).toBeUndefined();
    }
    if (locks instanceof KeyedSemaphore) expect(locks.availableFor('a')).toBe(1);
    expect(locks.keyCount).toBe(0);
  });

  describe('drain', () => {
    test('waits for all keys', async () => {
      const locks = create();
      const a = await locks.lock('a');
      const b = await locks.lock('b');
      const next = locks.lock('b');
      const drained: string[] = [];
      void locks.drain().then(() => drained.push('plain'));
      void locks.drain({ timeout: 60_000 }).then(() => drained.push('limited'));
      await expect(locks.drain({ timeout: 0 })).rejects.toThrow('0 ms');
      a.release();
      b.release();
      await nextMacrotask();
      expect(drained).toEqual([]);
      (await next).release();
      await nextMacrotask();
      expect(drained).toEqual(['plain', 'limited']);
    });

    test('is not resolved by requests that are refused meanwhile', async () => {
      const locks = create();
      const held = await locks.lock('a');
      let drained = false;
      const drain = locks.drain().then(() => {
        drained = true;
      });
      await expect(locks.lock('b', { timeout: -1 })).rejects.toThrow();
      locks.tryLock('c')?.release();
      await locks.run('d', () => {});
      await nextMacrotask();
      expect(drained).toBe(false);
      held.release();
      await drain;
    });
  });

  describe('close', () => {
    test('rejects the waiters of all keys, and refuses all keys', async () => {
      const locks = create();
      const held = [await locks.lock('a'), await locks.lock('b')];
      const waiters = [
        locks.lock('a'),
        locks.lock('b', {}),
        locks.run('a', () => 'never' as never),
      ];
      locks.close();
      expect(locks.closed).toBe(true);
      for (const key of ['a', 'b', 'c']) {
        expect(locks.waitingFor(key)).toBe(0);
        waiters.push(locks.lock(key), locks.lock(key, { timeout: 60_000 }));
        waiters.push(locks.run(key, () => 'never' as never));
        expect(() => locks.tryLock(key)).toThrow(ClosedError);
        expect(() => locks.tryLock(key, {})).toThrow(ClosedError);
      }
      for (const waiter of waiters) await expect(waiter).rejects.toThrow(ClosedError);
      expect([...locks.keys()]).toEqual(['a', 'b']);
      for (const lock of held) lock.release();
      expect(locks.keyCount).toBe(0);
      await expect(locks.lock('a')).rejects.toThrow(ClosedError);
      expect(locks.keyCount).toBe(0);
      await locks.drain();
    });
  });
});

describe('KeyedSemaphore', () => {
  test('has its limit for each key', async () => {
    const keyed = new KeyedSemaphore<string>(3);
    expect(keyed.limit).toBe(3);
    const one = await keyed.acquire('a');
    const two = await keyed.acquire('a', { permits: 2 });
    expect([one.permits, two.permits]).toEqual([1, 2]);
    expect([keyed.availableFor('a'), keyed.availableFor('b')]).toEqual([0, 3]);
    expect(keyed.tryAcquire('a')).toBeUndefined();
    expect(keyed.tryAcquire('b', { permits: 3 })?.permits).toBe(3);
    const waiter = keyed.acquire('a', { permits: 3 });
    two.release();
    two.release();
    expect([keyed.availableFor('a'), keyed.waitingFor('a')]).toEqual([2, 1]);
    one.release();
    expect((await waiter).permits).toBe(3);
    expect([keyed.availableFor('a'), keyed.waitingFor('a')]).toEqual([0, 0]);
    (await waiter).release();
    expect(keyed.availableFor('a')).toBe(3);
    expect([...keyed.keys()]).toEqual(['b']);
  });

  test('keeps a key while one of several permits is held', async () => {
    const keyed = new KeyedSemaphore<string>(2);
    const held = [await keyed.acquire('a'), await keyed.acquire('a')];
    held[0]?.release();
    expect([keyed.keyCount, keyed.availableFor('a')]).toEqual([1, 1]);
    held[1]?.release();
    expect([keyed.keyCount, keyed.availableFor('a')]).toEqual([0, 2]);
  });

  test('refuses more permits than the limit, for existing and for new keys', async () => {
    const keyed = new KeyedSemaphore<string>(2);
    await expect(keyed.acquire('a', { permits: 3 })).rejects.toThrow(/permits.* 2\b.* 3\b/);
    expect(keyed.keyCount).toBe(0);
    const held = await keyed.acquire('a');
    await expect(keyed.acquire('a', { permits: 3 })).rejects.toThrow(RangeError);
    expect(() => keyed.tryAcquire('a', { permits: 3 })).toThrow(RangeError);
    held.release();
    expect(keyed.keyCount).toBe(0);
  });

  test('accepts a priority', async () => {
    const keyed = new KeyedSemaphore<string>(1);
    const held = await keyed.acquire('a');
    const order: string[] = [];
    void keyed.run('a', () => order.push('plain'));
    void keyed.run('a', () => order.push('urgent'), { priority: 1 });
    held.release();
    await keyed.drain();
    expect(order).toEqual(['urgent', 'plain']);
  });
});

describe('KeyedMutex', () => {
  test('a key knows nothing of one that was used before', async () => {
    const keyed = new KeyedMutex<string>({ maxWaiting: 1 });
    const a = await keyed.lock('a', { owner: 'ann' });
    const waiter = keyed.lock('a', { owner: 'bob', priority: 1 });
    a.release();
    (await waiter).release();
    const b = await keyed.lock('b');
    expect([...keyed.keys()]).toEqual(['b']);
    expect([keyed.isLocked('a'), keyed.ownerOf('b'), keyed.waitingFor('b')]).toEqual([
      false,
      undefined,
      0,
    ]);
    a.release();
    expect(() => keyed.assertHeldBy('b', a)).toThrow('a lock that was released');
    const c = keyed.tryLock('a', { owner: 'bob' });
    expect(keyed.tryLock('b')).toBeUndefined();
    c?.release();
    b.release();
    expect(keyed.keyCount).toBe(0);
    keyed.close();
    expect(() => keyed.tryLock('c')).toThrow(ClosedError);
  });

  test('messages name the key of the request', async () => {
    const keyed = new KeyedMutex<string>({ name: 'accounts' });
    (await keyed.lock('a')).release();
    await keyed.lock('b');
    await expect(keyed.lock('b', { timeout: 0 })).rejects.toThrow('accounts "b": timed out');
  });

  test('an option that uses the same key does not make the lock forgotten', async () => {
    const keyed = new KeyedMutex<string>();
    const options = {
      get timeout() {
        keyed.tryLock('a')?.release();
        return 1_000;
      },
    };
    const lock = await keyed.lock('a', options);
    expect([keyed.isLocked('a'), keyed.tryLock('a')]).toEqual([true, undefined]);
    lock.release();
    expect(keyed.keyCount).toBe(0);
  });

  test('has an owner for each key', async () => {
    const keyed = new KeyedMutex<string>();
    const a = await keyed.lock('a', { owner: 'ann' });
    const b = await keyed.lock('b');
    expect([keyed.isLocked('a'), keyed.isLocked('b'), keyed.isLocked('c')]).toEqual([
      true,
      true,
      false,
    ]);
    expect([keyed.ownerOf('a'), keyed.ownerOf('b'), keyed.ownerOf('c')]).toEqual([
      'ann',
      undefined,
      undefined,
    ]);
    await expect(keyed.lock('a', { owner: 'ann' })).rejects.toThrow(ReentrancyError);
    expect(() => keyed.tryLock('a', { owner: 'ann' })).toThrow(ReentrancyError);
    await expect(keyed.run('a', () => 'never', { owner: 'ann' })).rejects.toThrow(ReentrancyError);
    // The owner of one key may request another.
    const next = keyed.lock('b', { owner: 'ann' });
    b.release();
    expect(keyed.ownerOf('b')).toBe('ann');
    a.release();
    expect([keyed.isLocked('a'), keyed.ownerOf('a')]).toEqual([false, undefined]);
    (await next).release();
    expect(keyed.keyCount).toBe(0);
  });
});
