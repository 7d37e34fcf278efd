/** Several keys at once: all or none, in the order of the requests, and never for good. */
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

describe('what is granted', () => {
  test('is one lock for all keys, each once, which goes back once', async () => {
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

  test('goes back at the end of a block', async () => {
    const mutex = new KeyedMutex<string>();
    {
      using _locks = await mutex.lockAll(new Set(['a', 'b']));
      expect(mutex.keyCount).toBe(2);
    }
    expect(mutex.keyCount).toBe(0);
  });

  test('is held by its keys, and only by those', async () => {
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

  test('is nothing for no keys, at once', async () => {
    const mutex = new KeyedMutex<string>();
    expect((await mutex.lockAll([])).keys).toEqual([]);
    expect(mutex.tryLockAll([])?.permits).toBe(0);
    expect(mutex.keyCount).toBe(0);
  });

  test('has the owner of the request for each key', async () => {
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

  test('runs a function, and goes back when it has settled', async () => {
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

describe('while it waits', () => {
  test('it holds nothing, and stands in the line of each key', async () => {
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
    // Nobody overtakes it, and nobody else is kept.
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

  test('no later request for one of its keys overtakes it, though the key is free', async () => {
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

  test('a higher priority overtakes it, which never blocks both for good', async () => {
    const mutex = new KeyedMutex<string>();
    const order: string[] = [];
    const b = await mutex.lock('b');
    const low = mutex.runAll(['a', 'b'], () => order.push('low'), { priority: -1 });
    const high = mutex.runAll(['b', 'a'], () => order.push('high'), { priority: 1 });
    const one = mutex.run('a', () => order.push('a, at once'), { priority: 2 });
    // Without a priority it goes before the low one, which had been offered the key.
    b.release();
    await Promise.all([low, high, one]);
    expect(order).toEqual(['a, at once', 'high', 'low']);
    expect(mutex.keyCount).toBe(0);
  });

  test('a key it has been offered may be taken by a higher priority before it gets the others', async () => {
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

  test('philosophers eat in the order in which they sat down, as far as their forks allow', async () => {
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

  test.each(ways)('by %s leaves no trace, and lets those behind in', async (_, start) => {
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

  test('in the step of the grant counts if it came before', async () => {
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

  test('a listener that was told before cannot let it in any more', async () => {
    const mutex = new KeyedMutex<string>();
    const controller = new AbortController();
    const b = await mutex.lock('b');
    controller.signal.addEventListener('abort', () => b.release());
    const all = mutex.lockAll(['a', 'b'], { signal: controller.signal });
    controller.abort('over');
    await expect(all).rejects.toBe('over');
    expect(mutex.keyCount).toBe(0);
  });

  test('a timeout of 0 takes what can be had at once', async () => {
    const mutex = new KeyedMutex<string>({ name: 'files' });
    (await mutex.lockAll(['a', 'b'], { timeout: 0 })).release();
    const a = await mutex.lock('a');
    await expect(mutex.lockAll(['a', 'b'], { timeout: 0 })).rejects.toThrow(
      'files: timed out after 0 ms',
    );
    a.release();
    expect(mutex.keyCount).toBe(0);
  });

  test('when it is closed or cancelled', async () => {
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

describe('what is refused', () => {
  test('an owner that holds one of the keys, before any effect', async () => {
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

  test('a request beyond the bound of one of its lines, before any effect', async () => {
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

  test('keys and options that cannot be used', async () => {
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
    const { lockAll, runAll } = mutex;
    await expect(lockAll(['a'])).rejects.toThrow(TypeError);
    await expect(runAll(['a'], () => {})).rejects.toThrow(TypeError);
    await expect(mutex.lockAll(['a'], { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(mutex.keyCount).toBe(0);
  });
});

describe('in a select', () => {
  test('exactly one takes effect', async () => {
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

  test('also where all of them could be had at once', async () => {
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

/** The law, as simply as it can be said: whoever is first in each of its lines, and finds all keys free, is let in. */
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

test('in any order of requests, releases and aborts it does what the law says', async () => {
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
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
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
