/** What a mutex adds to a semaphore of one permit: owners, `assertHeldBy`, and its own methods. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { KeyedMutex, Mutex, type Permit, ReentrancyError, Semaphore } from '../index.js';

describe('lock', () => {
  test('has one holder at a time, in order', async () => {
    const mutex = new Mutex();
    let inside = 0;
    const order: number[] = [];
    await Promise.all(
      [0, 1, 2, 3, 4].map(async (n) => {
        using _lock = await mutex.lock();
        inside += 1;
        expect(inside).toBe(1);
        order.push(n);
        await nextMacrotask();
        inside -= 1;
      }),
    );
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(mutex.locked).toBe(false);
  });

  test('reports `locked` and `waiting`', async () => {
    const mutex = new Mutex();
    expect([mutex.locked, mutex.waiting]).toEqual([false, 0]);
    const lock = await mutex.lock();
    expect([mutex.locked, mutex.waiting]).toEqual([true, 0]);
    const waiter = mutex.lock();
    expect([mutex.locked, mutex.waiting]).toEqual([true, 1]);
    lock.release();
    expect([mutex.locked, mutex.waiting]).toEqual([true, 0]);
    (await waiter).release();
    expect([mutex.locked, mutex.waiting]).toEqual([false, 0]);
  });

  test('accepts a priority', async () => {
    const mutex = new Mutex();
    const lock = await mutex.lock();
    const order: string[] = [];
    void mutex.run(() => order.push('late'), { priority: -1 });
    void mutex.run(() => order.push('plain'));
    void mutex.run(() => order.push('urgent'), { priority: 1 });
    lock.release();
    await mutex.drain();
    expect(order).toEqual(['urgent', 'plain', 'late']);
  });
});

describe('tryLock', () => {
  test('returns the lock, or undefined if it is held', () => {
    const mutex = new Mutex();
    const lock = mutex.tryLock();
    expect(lock?.permits).toBe(1);
    expect(mutex.tryLock()).toBeUndefined();
    expect(mutex.tryLock({ owner: 'ann' })).toBeUndefined();
    lock?.release();
    const owned = mutex.tryLock({ owner: 'ann' });
    expect(mutex.owner).toBe('ann');
    owned?.release();
    expect(mutex.owner).toBeUndefined();
  });

  test('does not overtake a waiter', async () => {
    const mutex = new Mutex();
    const lock = mutex.tryLock();
    const waiter = mutex.lock();
    lock?.release();
    expect(mutex.tryLock()).toBeUndefined();
    (await waiter).release();
    expect(mutex.tryLock()?.released).toBe(false);
  });
});

describe('run', () => {
  test('holds the lock until fn settles, with its result or error', async () => {
    const mutex = new Mutex();
    expect(await mutex.run(() => mutex.locked)).toBe(true);
    expect(mutex.locked).toBe(false);
    const error = new Error('from fn');
    await expect(mutex.run(() => Promise.reject(error))).rejects.toBe(error);
    const fail = () => {
      throw error;
    };
    await expect(mutex.run(fail)).rejects.toBe(error);
    await expect(mutex.run(fail, { owner: 'ann' })).rejects.toBe(error);
    expect(mutex.locked).toBe(false);
  });

  test('starts fn before it returns if the lock is free, with and without an owner', async () => {
    const mutex = new Mutex();
    const log: unknown[] = [];
    const plain = mutex.run(() => log.push('plain'));
    log.push('returned');
    await plain;
    const owned = mutex.run(() => log.push(mutex.owner), { owner: 'ann' });
    log.push('returned');
    await owned;
    expect(log).toEqual(['plain', 'returned', 'ann', 'returned']);
  });

  test('has the owner of its options', async () => {
    const mutex = new Mutex();
    const owner = { name: 'import' };
    await mutex.run(
      async () => {
        expect(mutex.owner).toBe(owner);
        await expect(mutex.run(() => 'never', { owner })).rejects.toThrow(ReentrancyError);
        await expect(mutex.lock({ owner })).rejects.toMatchObject({ owner });
      },
      { owner },
    );
    expect(mutex.owner).toBeUndefined();
  });
});

describe('owner', () => {
  test('a request of the owner that holds the lock is rejected at once', async () => {
    const mutex = new Mutex();
    const lock = await mutex.lock({ owner: 'import' });
    const waiter = mutex.lock({ owner: 'export' });
    for (const again of [
      mutex.lock({ owner: 'import' }),
      mutex.lock({ owner: 'import', timeout: 60_000 }),
      mutex.run(() => 'never', { owner: 'import' }),
    ]) {
      const error = await again.catch((error) => error);
      expect(error).toBeInstanceOf(ReentrancyError);
      expect(error).toBeInstanceOf(Error);
      expect(error.name).toBe('ReentrancyError');
      expect(error.owner).toBe('import');
      expect(error.message).toMatch(/import/);
    }
    expect(() => mutex.tryLock({ owner: 'import' })).toThrow(ReentrancyError);
    expect([mutex.locked, mutex.waiting, mutex.owner]).toEqual([true, 1, 'import']);
    lock.release();
    expect(mutex.owner).toBe('export');
    (await waiter).release();
    expect([mutex.locked, mutex.waiting, mutex.owner]).toEqual([false, 0, undefined]);
  });

  test('can be any value, compared by identity', async () => {
    const bare = Object.create(null);
    for (const owner of [
      '',
      'text',
      0,
      Number.NaN,
      1n,
      null,
      false,
      Symbol('me'),
      {},
      [],
      () => {},
      bare,
    ]) {
      const mutex = new Mutex();
      const lock = await mutex.lock({ owner });
      expect(mutex.owner).toBe(owner);
      const error = await mutex.lock({ owner }).catch((error) => error);
      expect(error).toBeInstanceOf(ReentrancyError);
      expect(error.owner).toBe(owner);
      lock.release();
      (await mutex.lock({ owner })).release();
    }
    const mutex = new Mutex();
    const lock = await mutex.lock({ owner: {} });
    const other = mutex.lock({ owner: {} });
    expect(mutex.waiting).toBe(1);
    lock.release();
    (await other).release();
  });

  test('is not checked for requests without an owner', async () => {
    const mutex = new Mutex();
    const lock = await mutex.lock();
    expect(mutex.owner).toBeUndefined();
    const waiters = [mutex.lock(), mutex.lock({}), mutex.lock({ owner: undefined })];
    expect(mutex.waiting).toBe(3);
    lock.release();
    for (const waiter of waiters) {
      (await waiter).release();
      expect(mutex.owner).toBeUndefined();
    }
    expect(mutex.locked).toBe(false);
  });

  test('can have several requests in the queue while another owner holds the lock', async () => {
    const mutex = new Mutex();
    const lock = await mutex.lock({ owner: 'ann' });
    const bob = [mutex.lock({ owner: 'bob' }), mutex.lock({ owner: 'bob' })];
    expect(mutex.waiting).toBe(2);
    lock.release();
    const first = await bob[0];
    await expect(mutex.lock({ owner: 'bob' })).rejects.toThrow(ReentrancyError);
    const ann = mutex.lock({ owner: 'ann' });
    first?.release();
    (await bob[1])?.release();
    (await ann).release();
    expect(mutex.locked).toBe(false);
  });

  type Kind = 'plain' | 'options' | 'ann' | 'bob';
  const kinds: Kind[] = ['plain', 'options', 'ann', 'bob'];
  const ownerOf = (kind: Kind) => (kind === 'ann' || kind === 'bob' ? kind : undefined);
  const lockAs = (mutex: Mutex, kind: Kind) => {
    if (kind === 'plain') return mutex.lock();
    if (kind === 'options') return mutex.lock({ timeout: 60_000 });
    return mutex.lock({ owner: kind });
  };

  test.each(kinds.flatMap((one) => kinds.map((other) => [one, other] as const)))(
    'changes with the lock, from %s to %s and back',
    async (one, other) => {
      const mutex = new Mutex();
      const locks = [lockAs(mutex, one)];
      expect(mutex.owner).toBe(ownerOf(one));
      const same = one === other && ownerOf(one) !== undefined;
      if (same) {
        await expect(lockAs(mutex, other)).rejects.toThrow(ReentrancyError);
      } else {
        locks.push(lockAs(mutex, other));
        expect(mutex.owner).toBe(ownerOf(one));
        (await locks[0])?.release();
        // In the step of the release, before the waiter's continuation runs.
        expect(mutex.owner).toBe(ownerOf(other));
        const third = lockAs(mutex, one);
        (await locks[1])?.release();
        expect(mutex.owner).toBe(ownerOf(one));
        locks.push(third);
      }
      (await locks.at(-1))?.release();
      expect(mutex.owner).toBeUndefined();
      expect(mutex.locked).toBe(false);
      // The first owner can acquire it again.
      const again = await lockAs(mutex, one);
      expect(mutex.owner).toBe(ownerOf(one));
      again.release();
    },
  );

  test.each(kinds)('of a run is cleared at its end: %s is next', async (next) => {
    const mutex = new Mutex();
    for (const fail of [false, true]) {
      const run = mutex.run(
        async () => {
          expect(mutex.owner).toBe('carol');
          await nextMacrotask();
          if (fail) throw new Error('from fn');
        },
        { owner: 'carol' },
      );
      const waiter = lockAs(mutex, next);
      expect(mutex.owner).toBe('carol');
      await run.catch(() => {});
      expect(mutex.owner).toBe(ownerOf(next));
      const again = mutex.lock({ owner: 'carol' });
      expect(mutex.waiting).toBe(1);
      (await waiter).release();
      expect(mutex.owner).toBe('carol');
      (await again).release();
      expect(mutex.owner).toBeUndefined();
    }
  });

  test('is not changed by a second release of an earlier lock', async () => {
    const mutex = new Mutex();
    const ann = await mutex.lock({ owner: 'ann' });
    ann.release();
    const bob = await mutex.lock({ owner: 'bob' });
    ann.release();
    expect(mutex.owner).toBe('bob');
    bob.release();
    const plain = await mutex.lock();
    bob.release();
    expect(mutex.owner).toBeUndefined();
    expect(mutex.locked).toBe(true);
    plain.release();
  });

  test('is not changed by a waiter that gives up', async () => {
    const mutex = new Mutex();
    const ann = await mutex.lock({ owner: 'ann' });
    const controller = new AbortController();
    const bob = mutex.lock({ owner: 'bob', signal: controller.signal });
    controller.abort('changed my mind');
    await expect(bob).rejects.toBe('changed my mind');
    expect(mutex.owner).toBe('ann');
    ann.release();
    expect(mutex.owner).toBeUndefined();
  });

  test('stays known when the mutex is closed', async () => {
    const mutex = new Mutex();
    const ann = await mutex.lock({ owner: 'ann' });
    mutex.close('closed');
    expect(mutex.owner).toBe('ann');
    await expect(mutex.lock({ owner: 'ann' })).rejects.toBe('closed');
    ann.release();
    expect(mutex.owner).toBeUndefined();
  });
});

describe('assertHeldBy', () => {
  test('of a key accepts only a held lock of that key', () => {
    const locks = new KeyedMutex<string>();
    const ann = locks.tryLock('ann') as Permit;
    const bob = locks.tryLock('bob') as Permit;
    locks.assertHeldBy('ann', ann);
    expect(() => locks.assertHeldBy('ann', bob)).toThrow(/of another mutex/);
    expect(() => locks.assertHeldBy('carol', bob)).toThrow(TypeError);
    ann.release();
    expect(() => locks.assertHeldBy('ann', ann)).toThrow(/released/);
  });

  test('accepts the held lock, however it was acquired', async () => {
    const mutex = new Mutex();
    const waysIn: (() => Promise<Permit>)[] = [
      () => mutex.lock(),
      () => mutex.lock({ owner: 'ann' }),
      async () => mutex.tryLock() as Permit,
      async () => mutex.tryLock({ owner: 'ann' }) as Permit,
      async () => {
        const first = await mutex.lock();
        const second = mutex.lock();
        first.release();
        return second;
      },
    ];
    for (const enter of waysIn) {
      const lock = await enter();
      expect(mutex.assertHeldBy(lock)).toBeUndefined();
      lock.release();
      expect(() => mutex.assertHeldBy(lock)).toThrow(TypeError);
    }
    await mutex.run((lock) => mutex.assertHeldBy(lock));
  });

  test('throws for any other value', async () => {
    const mutex = new Mutex();
    const released = await mutex.lock();
    released.release();
    const held = await mutex.lock();
    const others = [
      await new Mutex().lock(),
      await new KeyedMutex<string>().lock('key'),
      await new Semaphore(1).acquire(),
    ];
    const garbage = [
      undefined,
      null,
      0,
      1,
      'lock',
      true,
      1n,
      Symbol('lock'),
      {},
      [],
      () => {},
      mutex,
    ];
    const copy = { ...held, released: false, permits: 1, release() {} };
    expect(() => mutex.assertHeldBy(released)).toThrow(/lock.*held.*released/);
    for (const wrong of [...others, ...garbage, { released: true }]) {
      expect(() => mutex.assertHeldBy(wrong as never)).toThrow(TypeError);
      expect(() => mutex.assertHeldBy(wrong as never)).toThrow(/lock.*held/);
    }
    expect(copy.released).toBe(false);
    mutex.assertHeldBy(held);
    held.release();
    for (const wrong of garbage) {
      expect(() => mutex.assertHeldBy(wrong as never)).toThrow(TypeError);
    }
  });
});
