/** Several keys at once: all or none, in the order of the requests, without deadlock. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { KeyedMutex, type LockOptions, type Locks, ReentrancyError } from '../index.js';
import { select } from '../select/select.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const waiting = (mutex: KeyedMutex<string>, keys: string) =>
  [...keys].map((key) => mutex.waitingFor(key));
const locked = (mutex: KeyedMutex<string>, keys: string) =>
  [...keys].map((key) => mutex.isLocked(key));

describe('a granted request', () => {
  test('is one permit for all keys, each once, which is given back once', async () => {
    const mutex = new KeyedMutex<string>();
    const locks = await mutex.lockAll(['b', 'a', 'b']);
    expect([locks.keys, locks.permits, locks.released]).toEqual([['b', 'a'], 2, false]);
    expect([...mutex.keys()]).toEqual(['b', 'a']);
    const next = mutex.lock('a');
    const { release } = locks;
    release();
    locks.release();
    expect([locks.released, locked(mutex, 'ab'), locks.keys]).toEqual([
      true,
      [true, false],
      ['b', 'a'],
    ]);
    release();
    expect(mutex.isLocked('a')).toBe(true);
    (await next).release();
    expect(mutex.keyCount).toBe(0);
  });

  test('is released at the end of a `using` block', async () => {
    const mutex = new KeyedMutex<string>();
    {
      using _locks = await mutex.lockAll(new Set(['a', 'b']));
      expect(mutex.keyCount).toBe(2);
    }
    expect(mutex.keyCount).toBe(0);
  });

  test('passes assertHeldBy for its keys only', async () => {
    const mutex = new KeyedMutex<string>();
    const locks = await mutex.lockAll(['a', 'b']);
    const other = await mutex.lock('c');
    mutex.assertHeldBy('a', locks);
    mutex.assertHeldBy('b', locks);
    expect(() => mutex.assertHeldBy('c', locks)).toThrow(TypeError);
    expect(() => mutex.assertHeldBy('a', other)).toThrow(TypeError);
    expect(() => new KeyedMutex<string>().assertHeldBy('a', locks)).toThrow(TypeError);
    locks.release();
    expect(() => mutex.assertHeldBy('a', locks)).toThrow(TypeError);
    other.release();
  });

  test('without keys is empty, and granted at once', async () => {
    const mutex = new KeyedMutex<string>();
    expect((await mutex.lockAll([])).keys).toEqual([]);
    expect(mutex.tryLockAll([])?.permits).toBe(0);
    expect(mutex.keyCount).toBe(0);
  });

  test('sets its owner for each key', async () => {
    const mutex = new KeyedMutex<string>();
    const [owner, next] = [{}, {}];
    const locks = await mutex.lockAll(['a', 'b'], { owner });
    expect(['a', 'b'].map((key) => mutex.ownerOf(key))).toEqual([owner, owner]);
    const later = mutex.lockAll(['c', 'b', 'a'], { owner: next });
    expect(mutex.ownerOf('c')).toBe(undefined);
    locks.release();
    expect(['a', 'b', 'c'].map((key) => mutex.ownerOf(key))).toEqual([next, next, next]);
    (await later).release();
  });

  test('is released when the function of runAll has settled', async () => {
    const mutex = new KeyedMutex<string>();
    const error = new Error('lost');
    expect(await mutex.runAll(['a', 'b'], ({ keys }) => [keys, mutex.keyCount])).toEqual([
      ['a', 'b'],
      2,
    ]);
    await expect(mutex.runAll(['a', 'b'], () => Promise.reject(error))).rejects.toBe(error);
    const thrown = mutex.runAll(['a', 'b'], () => {
      throw error;
    });
    await expect(thrown).rejects.toBe(error);
    expect(mutex.keyCount).toBe(0);
  });
});

describe('a waiting request', () => {
  test('holds nothing, and has a place in the queue of each key', async () => {
    const mutex = new KeyedMutex<string>();
    const held = await mutex.lock('b');
    const all = mutex.lockAll(['a', 'b', 'c']);
    expect([waiting(mutex, 'abc'), locked(mutex, 'abc')]).toEqual([
      [1, 1, 1],
      [false, true, false],
    ]);
    expect(['a', 'b', 'c'].map((key) => mutex.ownerOf(key))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    // No request for one of its keys overtakes it; other keys are not affected.
    expect(mutex.tryLock('a')).toBe(undefined);
    expect(mutex.tryLockAll(['c', 'd'])).toBe(undefined);
    const other = mutex.tryLockAll(['d', 'e']) as Locks<string>;
    const later = mutex.lock('a');
    held.release();
    expect([waiting(mutex, 'abc'), mutex.keyCount]).toEqual([[1, 0, 0], 5]);
    (await all).release();
    (await later).release();
    other.release();
    expect(mutex.keyCount).toBe(0);
  });

  test('is not overtaken at a free key by a later request', async () => {
    const mutex = new KeyedMutex<string>();
    const order: string[] = [];
    const b = await mutex.lock('b');
    const all = mutex.runAll(['a', 'b'], () => order.push('a and b'));
    const late = mutex.run('a', () => order.push('a'));
    const both = mutex.runAll(['c', 'a'], () => order.push('c and a'));
    const last = mutex.run('c', () => order.push('c'));
    await nextMacrotask();
    expect(order).toEqual([]);
    b.release();
    await Promise.all([all, late, both, last]);
    expect(order).toEqual(['a and b', 'a', 'c and a', 'c']);
    expect(mutex.keyCount).toBe(0);
  });

  test('is overtaken by a higher priority, without deadlock', async () => {
    const mutex = new KeyedMutex<string>();
    const order: string[] = [];
    const b = await mutex.lock('b');
    const low = mutex.runAll(['a', 'b'], () => order.push('low'), { priority: -1 });
    const high = mutex.runAll(['b', 'a'], () => order.push('high'), { priority: 1 });
    const one = mutex.run('a', () => order.push('a, at once'), { priority: 2 });
    // It goes before the low request, which has been offered the key.
    b.release();
    await Promise.all([low, high, one]);
    expect(order).toEqual(['a, at once', 'high', 'low']);
    expect(mutex.keyCount).toBe(0);
  });

  test('can lose a key that it was offered to a request of higher priority', async () => {
    const mutex = new KeyedMutex<string>();
    const b = await mutex.lock('b');
    const low = mutex.lockAll(['a', 'b'], { priority: -1 });
    const quick = mutex.tryLock('a');
    expect(quick).not.toBe(undefined);
    b.release();
    expect(waiting(mutex, 'ab')).toEqual([1, 1]);
    quick?.release();
    expect(waiting(mutex, 'ab')).toEqual([0, 0]);
    (await low).release();
    expect(mutex.keyCount).toBe(0);
  });

  test('loses a key that it was offered to a request for several keys of higher priority', async () => {
    const mutex = new KeyedMutex<string>();
    const [b, c] = [await mutex.lock('b'), await mutex.lock('c')];
    const low = mutex.lockAll(['a', 'b']);
    const high = mutex.lockAll(['a', 'c'], { priority: 1 });
    b.release();
    // The high request is at the front of `a`, so the low one takes neither of its keys.
    expect(locked(mutex, 'abc')).toEqual([false, false, true]);
    c.release();
    (await high).release();
    (await low).release();
    expect(mutex.keyCount).toBe(0);
  });

  test('is overtaken at once by a request for several free keys of higher priority', async () => {
    const mutex = new KeyedMutex<string>();
    const c = await mutex.lock('c');
    const low = mutex.lockAll(['a', 'c']);
    const high = mutex.lockAll(['a', 'b'], { priority: 1 });
    expect(locked(mutex, 'ab')).toEqual([true, true]);
    (await high).release();
    c.release();
    (await low).release();
    expect(mutex.keyCount).toBe(0);
  });

  test('2,000 philosophers eat in the order in which they sat down', async () => {
    const mutex = new KeyedMutex<number>();
    const eaten: number[] = [];
    const count = 2_000;
    const first = await mutex.lock(0);
    const dinners = Array.from({ length: count }, (_, n) =>
      mutex.runAll([(n + 1) % count, n], () => eaten.push(n)),
    );
    first.release();
    await Promise.all(dinners);
    expect(eaten).toEqual(Array.from({ length: count }, (_, n) => n));
    expect(mutex.keyCount).toBe(0);
  });
});

describe('giving up', () => {
  const ways: [string, (mutex: KeyedMutex<string>) => [Promise<unknown>, () => void]][] = [
    [
      'an abort',
      (mutex) => {
        const controller = new AbortController();
        const { signal } = controller;
        return [mutex.lockAll(['a', 'b', 'c'], { signal }), () => controller.abort('over')];
      },
    ],
    [
      'a timeout',
      (mutex) => [
        mutex.lockAll(['a', 'b', 'c'], { timeout: 5 }),
        () => void vi.advanceTimersByTime(5),
      ],
    ],
  ];

  test.each(ways)('by %s leaves no trace, and the requests behind are served', async (_, start) => {
    const mutex = new KeyedMutex<string>();
    const b = await mutex.lock('b');
    const [all, giveUp] = start(mutex);
    const refused = expect(all).rejects.toBeDefined();
    const [behind, both] = [mutex.lock('a'), mutex.lockAll(['a', 'c'])];
    expect(waiting(mutex, 'abc')).toEqual([3, 1, 2]);
    giveUp();
    expect(waiting(mutex, 'abc')).toEqual([1, 0, 1]);
    (await behind).release();
    (await both).release();
    expect(mutex.keyCount).toBe(1);
    b.release();
    expect(mutex.keyCount).toBe(0);
    await refused;
  });

  test('in the step of the grant takes effect only if it comes first', async () => {
    for (const abortsFirst of [true, false]) {
      const mutex = new KeyedMutex<string>();
      const controller = new AbortController();
      const b = await mutex.lock('b');
      const all = mutex.lockAll(['a', 'b'], { signal: controller.signal, timeout: 50 });
      if (abortsFirst) controller.abort('over');
      b.release();
      controller.abort('over');
      if (abortsFirst) await expect(all).rejects.toBe('over');
      else (await all).release();
      expect(mutex.keyCount).toBe(0);
    }
  });

  test('a release by an earlier listener of the same signal does not grant it', async () => {
    const mutex = new KeyedMutex<string>();
    const controller = new AbortController();
    const b = await mutex.lock('b');
    controller.signal.addEventListener('abort', () => b.release());
    const all = mutex.lockAll(['a', 'b'], { signal: controller.signal });
    controller.abort('over');
    await expect(all).rejects.toBe('over');
    expect(mutex.keyCount).toBe(0);
  });

  test('a timeout of 0 succeeds only if all keys are free', async () => {
    const mutex = new KeyedMutex<string>({ name: 'files' });
    (await mutex.lockAll(['a', 'b'], { timeout: 0 })).release();
    const a = await mutex.lock('a');
    await expect(mutex.lockAll(['a', 'b'], { timeout: 0 })).rejects.toThrow(
      'files: timed out after 0 ms',
    );
    a.release();
    expect(mutex.keyCount).toBe(0);
  });

  test('by close or cancel', async () => {
    for (const how of ['close', 'cancel'] as const) {
      const mutex = new KeyedMutex<string>();
      const b = await mutex.lock('b');
      const { signal } = new AbortController();
      const all = expect(mutex.lockAll(['a', 'b', 'c'], { signal, timeout: 9 })).rejects.toBe(
        'over',
      );
      mutex[how]('over');
      expect(waiting(mutex, 'abc')).toEqual([0, 0, 0]);
      await all;
      b.release();
      expect(mutex.keyCount).toBe(0);
      if (how === 'close') {
        await expect(mutex.lockAll(['a', 'b'])).rejects.toBe('over');
        expect(() => mutex.tryLockAll(['a'])).toThrow('over');
      }
    }
  });
});

describe('a refused request', () => {
  test('has an owner that holds one of the keys', async () => {
    const mutex = new KeyedMutex<string>();
    const [a, b] = [await mutex.lock('a'), await mutex.lock('b', { owner: 'ann' })];
    for (const keys of [
      ['a', 'b'],
      ['b', 'c'],
    ]) {
      await expect(mutex.lockAll(keys, { owner: 'ann' })).rejects.toThrow(ReentrancyError);
      expect(() => mutex.tryLockAll(keys, { owner: 'ann' })).toThrow(ReentrancyError);
    }
    expect([waiting(mutex, 'abc'), mutex.keyCount]).toEqual([[0, 0, 0], 2]);
    a.release();
    b.release();
  });

  test('finds the queue of one of its keys full', async () => {
    const mutex = new KeyedMutex<string>({ name: 'files', maxWaiting: 1 });
    const a = await mutex.lock('a');
    const waiter = mutex.lock('a');
    await expect(mutex.lockAll(['b', 'a'])).rejects.toThrow(
      'files "a": the queue is full: 1 waiting',
    );
    expect([waiting(mutex, 'ab'), mutex.keyCount]).toEqual([[1, 0], 1]);
    a.release();
    (await waiter).release();
    const none = new KeyedMutex<string>({ maxWaiting: 0 });
    const locks = await none.lockAll(['a', 'b']);
    await expect(none.lockAll(['c', 'a'])).rejects.toThrow('the queue is full: 0 waiting');
    locks.release();
    expect([mutex.keyCount, none.keyCount]).toEqual([0, 0]);
  });

  test('has invalid keys or options', async () => {
    const mutex = new KeyedMutex<string>();
    for (const keys of [undefined, null, 'ab', 7, {}]) {
      await expect(mutex.lockAll(keys as never)).rejects.toThrow(
        'keys must be an iterable of keys',
      );
      expect(() => mutex.tryLockAll(keys as never)).toThrow('keys must be an iterable of keys');
    }
    const wrong = { permits: 1 } as LockOptions;
    await expect(mutex.lockAll(['a'], wrong)).rejects.toThrow('options has "permits"');
    await expect(mutex.runAll(['a'], undefined as never)).rejects.toThrow('fn must be a function');
    await expect(mutex.lockAll(['a'], { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(mutex.keyCount).toBe(0);
  });
});

describe('in a select', () => {
  test('exactly one waiting case takes effect', async () => {
    const mutex = new KeyedMutex<string>();
    const [a, b, c] = [await mutex.lock('a'), await mutex.lock('b'), await mutex.lock('c')];
    const first = select(
      {
        ab: (only) => mutex.lockAll(['a', 'b'], only),
        bc: (only) => mutex.lockAll(['b', 'c'], only),
        c: (only) => mutex.lock('c', only),
      },
      { biased: true },
    );
    expect(waiting(mutex, 'abc')).toEqual([1, 2, 2]);
    a.release();
    expect(waiting(mutex, 'abc')).toEqual([1, 2, 2]);
    b.release();
    expect(waiting(mutex, 'abc')).toEqual([0, 0, 0]);
    const { key, value } = await first;
    expect(key).toBe('ab');
    c.release();
    expect([...mutex.keys()].sort()).toEqual(['a', 'b']);
    value.release();
    expect(mutex.keyCount).toBe(0);
  });

  test('exactly one takes effect if all keys are free', async () => {
    const mutex = new KeyedMutex<string>();
    const { value } = await select({
      ab: (only) => mutex.lockAll(['a', 'b'], only),
      bc: (only) => mutex.lockAll(['b', 'c'], only),
    });
    expect(mutex.keyCount).toBe(2);
    value.release();
    expect(mutex.keyCount).toBe(0);
  });
});

/** The model: a request is granted when all its keys are free and no earlier request waits for one of them. */
class Model {
  readonly held = new Set<string>();
  #queue: { id: number; keys: string[]; priority: number }[] = [];
  readonly granted: number[] = [];

  ask(id: number, keys: string[], priority: number): void {
    let index = this.#queue.findIndex((other) => other.priority < priority);
    if (index < 0) index = this.#queue.length;
    this.#queue.splice(index, 0, { id, keys, priority });
    this.serve();
  }

  leave(id: number): void {
    this.#queue = this.#queue.filter((each) => each.id !== id);
    this.serve();
  }

  release(keys: string[]): void {
    for (const key of keys) this.held.delete(key);
    this.serve();
  }

  serve(): void {
    const blocked = new Set(this.held);
    for (const { id, keys } of [...this.#queue]) {
      if (keys.every((key) => !blocked.has(key))) {
        for (const key of keys) this.held.add(key);
        this.granted.push(id);
        this.#queue = this.#queue.filter((each) => each.id !== id);
      }
      for (const key of keys) blocked.add(key);
    }
  }

  waiting(key: string): number {
    return this.#queue.filter(({ keys }) => keys.includes(key)).length;
  }
}

test('behaves as the model with any requests, releases and aborts', async () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({
      do: fc.constant('ask' as const),
      keys: fc.uniqueArray(key, { minLength: 1, maxLength: 4 }),
      priority: fc.integer({ min: -1, max: 1 }),
    }),
    fc.record({ do: fc.constant('release' as const), which: fc.nat(20) }),
    fc.record({ do: fc.constant('abort' as const), which: fc.nat(20) }),
    fc.record({ do: fc.constant('tick' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
      const mutex = new KeyedMutex<string>();
      const model = new Model();
      const requests: {
        keys: string[];
        controller: AbortController;
        lock: Promise<{ release(): void }>;
      }[] = [];
      const open = new Set<number>();
      const release = async (id: number) => {
        const { keys, lock } = requests[id] as (typeof requests)[0];
        open.delete(id);
        const held = await lock;
        model.release(keys);
        held.release();
      };
      for (const each of steps) {
        if (each.do === 'ask') {
          const { keys, priority } = each;
          const controller = new AbortController();
          const options = { priority, signal: controller.signal };
          const [single] = keys as [string];
          const id = requests.length;
          open.add(id);
          model.ask(id, keys, priority);
          const lock: Promise<{ release(): void }> =
            keys.length === 1 ? mutex.lock(single, options) : mutex.lockAll(keys, options);
          lock.catch(() => {});
          requests.push({ keys, controller, lock });
        } else if (each.do === 'release') {
          const granted = model.granted.filter((id) => open.has(id));
          const id = granted[each.which % granted.length];
          if (id !== undefined) await release(id);
        } else if (each.do === 'abort') {
          const waiters = [...open].filter((id) => !model.granted.includes(id));
          const id = waiters[each.which % waiters.length];
          if (id !== undefined) {
            open.delete(id);
            model.leave(id);
            requests[id]?.controller.abort();
          }
        } else await null;
        for (const name of 'abcd') {
          expect([name, mutex.waitingFor(name)]).toEqual([name, model.waiting(name)]);
          expect(mutex.isLocked(name)).toBe(model.held.has(name));
        }
      }
      while (open.size > 0) {
        const id = model.granted.find((each) => open.has(each));
        expect(id).toBeDefined();
        await release(id as number);
      }
      expect(mutex.keyCount).toBe(0);
    }),
    { numRuns: 500 },
  );
});
