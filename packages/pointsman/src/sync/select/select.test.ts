/** The first of several waits: exactly one takes effect, in any race. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { asyncDispose, dispose } from '../dispose.js';
import { Mutex } from '../mutex/mutex.js';
import type { Permit } from '../semaphore/permit.js';
import { Semaphore } from '../semaphore/semaphore.js';
import { type SelectSignal, select } from './select.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const never = () => new Promise<never>(() => {});

/** A promise, and what settles it. */
function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((...both) => {
    [resolve, reject] = both;
  });
  return { promise, resolve, reject };
}

/** An operation that knows nothing of contests: settles when told to, and rejects when it is aborted. */
function foreign<T>() {
  const { promise, resolve, reject } = deferred<T>();
  const signals: AbortSignal[] = [];
  const operation = ({ signal }: SelectSignal) => {
    signals.push(signal);
    signal.addEventListener('abort', () => reject(signal.reason));
    return promise;
  };
  return { operation, resolve, reject, signals };
}

describe('what wins', () => {
  test('an operation that is granted at once, and those after it never start', async () => {
    const semaphore = new Semaphore(1);
    const late = vi.fn(never);
    const { key, value } = await select(
      { early: (only) => semaphore.acquire(only), late },
      { biased: true },
    );
    expect(key).toBe('early');
    expect(late).not.toHaveBeenCalled();
    (value as Permit).release();
    expect(semaphore.idle).toBe(true);
  });

  test('an operation that is granted later', async () => {
    const [a, b] = [new Semaphore(0), new Semaphore(0)];
    const first = select({ a: (only) => a.acquire(only), b: (only) => b.acquire(only) });
    expect([a.waiting, b.waiting]).toEqual([1, 1]);
    b.limit = 1;
    expect([a.waiting, b.waiting]).toEqual([0, 0]);
    expect((await first).key).toBe('b');
    a.limit = 1;
    expect([a.available, b.available]).toEqual([1, 0]);
  });

  test('a promise that is given as it is', async () => {
    const semaphore = new Semaphore(0);
    const first = select({
      value: Promise.resolve(7),
      permit: (only) => semaphore.acquire(only),
    });
    expect(await first).toEqual({ key: 'value', value: 7 });
    expect(semaphore.waiting).toBe(0);
  });

  test('a timer', async () => {
    const semaphore = new Semaphore(0);
    const first = select({ late: 50, later: 60, permit: (only) => semaphore.acquire(only) });
    await vi.advanceTimersByTimeAsync(49);
    expect(semaphore.waiting).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await first).toEqual({ key: 'late', value: undefined });
    expect([semaphore.waiting, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('a timer longer than the platform can take', async () => {
    const first = select({ late: 2 ** 32, never: Number.POSITIVE_INFINITY });
    await vi.advanceTimersByTimeAsync(2 ** 32 - 1);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect((await first).key).toBe('late');
  });

  test('an operation of another library, whose competitors are aborted', async () => {
    const [a, b] = [foreign<string>(), foreign<string>()];
    const first = select({ a: a.operation, b: b.operation });
    await nextMacrotask();
    b.resolve('done');
    expect(await first).toEqual({ key: 'b', value: 'done' });
    expect(a.signals[0]?.reason).toMatchObject({ name: 'AbortError' });
    expect(b.signals[0]?.aborted).toBe(false);
  });

  test('a value that is no promise', async () => {
    expect(await select({ now: () => 1 })).toEqual({ key: 'now', value: 1 });
  });

  test('a rejection, whether thrown or not', async () => {
    const semaphore = new Semaphore(0);
    const error = new Error('lost');
    const permit = (only: SelectSignal) => semaphore.acquire(only);
    for (const failing of [
      () => Promise.reject(error),
      Promise.reject(error),
      () => {
        throw error;
      },
    ]) {
      await expect(select({ permit, failing }, { biased: true })).rejects.toBe(error);
      expect(semaphore.waiting).toBe(0);
    }
  });

  test('an operation that fails under its own timeout', async () => {
    const semaphore = new Semaphore(0);
    const first = select({
      permit: (only) => semaphore.acquire({ ...only, timeout: 5 }),
      other: (only) => semaphore.acquire(only),
    });
    const failed = expect(first).rejects.toMatchObject({ name: 'TimeoutError' });
    await vi.advanceTimersByTimeAsync(5);
    await failed;
    expect(semaphore.waiting).toBe(0);
  });

  test('a thenable, which is asked once however often it is selected', async () => {
    const then = vi.fn((resolve: (value: number) => void) => resolve(3));
    const thenable = { then } as unknown as PromiseLike<number>;
    expect(await select({ thenable })).toEqual({ key: 'thenable', value: 3 });
    expect(await select({ thenable })).toEqual({ key: 'thenable', value: 3 });
    expect(then).toHaveBeenCalledTimes(1);
  });
});

describe('exactly one', () => {
  test('of two cases on one semaphore that a single step could both let in', async () => {
    const semaphore = new Semaphore(0);
    const first = select({
      a: (only) => semaphore.acquire(only),
      b: (only) => semaphore.acquire(only),
    });
    expect(semaphore.waiting).toBe(2);
    semaphore.limit = 2;
    expect([semaphore.available, semaphore.waiting]).toEqual([1, 0]);
    (await first).value.release();
    expect(semaphore.idle).toBe(true);
  });

  test('of cases whose leaving lets another case of the same select in', async () => {
    const semaphore = new Semaphore(1);
    const other = new Semaphore(0);
    const first = select(
      {
        other: (only) => other.acquire(only),
        // The second could be let in as soon as the first, which asks for too much now, leaves.
        large: async (only) => {
          const held = semaphore.tryAcquire();
          const large = semaphore.acquire({ ...only, priority: 1 });
          held?.release();
          return large;
        },
      },
      { biased: true },
    );
    expect((await first).key).toBe('large');
    expect([other.waiting, semaphore.available]).toEqual([0, 0]);

    const two = new Semaphore(2);
    const held = await two.acquire();
    const door = new Semaphore(0);
    const next = select(
      {
        door: (only) => door.acquire(only),
        large: (only) => two.acquire({ ...only, permits: 2 }),
        small: (only) => two.acquire(only),
      },
      { biased: true },
    );
    const outside = two.acquire();
    expect(two.waiting).toBe(3);
    door.limit = 1;
    expect((await next).key).toBe('door');
    // Neither case of the select, but who stood behind them.
    expect([two.available, two.waiting]).toEqual([0, 0]);
    (await outside).release();
    held.release();
    expect([two.idle, door.available]).toEqual([true, 0]);
  });

  test('of two operations that one case starts at once', async () => {
    const semaphore = new Semaphore(0);
    const other = new Semaphore(0);
    const first = select({
      both: async (only) => Promise.all([semaphore.acquire(only), other.acquire(only)]),
      late: 10,
    });
    semaphore.limit = 1;
    await vi.advanceTimersByTimeAsync(20);
    other.limit = 1;
    // The case won by its first grant, and had the time for its second.
    expect((await first).key).toBe('both');
  });

  test('of a case that uses two primitives one after the other', async () => {
    const [mutex, semaphore] = [new Mutex(), new Semaphore(0)];
    const other = foreign<string>();
    const first = select(
      {
        both: async (only) => {
          const lock = await mutex.lock(only);
          return [lock, await semaphore.acquire(only)];
        },
        other: other.operation,
      },
      { biased: true },
    );
    other.resolve('too late');
    await nextMacrotask();
    expect(other.signals).toEqual([]);
    semaphore.limit = 1;
    const { key, value } = await first;
    expect([key, (value as Permit[]).length]).toEqual(['both', 2]);
  });

  test('of nested selects', async () => {
    const [a, b, c] = [new Semaphore(0), new Semaphore(0), new Semaphore(0)];
    const first = select({
      inner: (only) => select({ a: (one) => a.acquire(one), b: (one) => b.acquire(one) }, only),
      c: (only) => c.acquire(only),
    });
    expect([a.waiting, b.waiting, c.waiting]).toEqual([1, 1, 1]);
    b.limit = 1;
    expect([a.waiting, b.waiting, c.waiting]).toEqual([0, 0, 0]);
    expect(await first).toMatchObject({ key: 'inner', value: { key: 'b' } });

    const next = select({
      inner: (only) => select({ a: (one) => a.acquire(one), b: (one) => b.acquire(one) }, only),
      c: (only) => c.acquire(only),
    });
    c.limit = 1;
    expect([a.waiting, b.waiting, c.waiting]).toEqual([0, 0, 0]);
    expect((await next).key).toBe('c');
  });

  test('of nested selects on one semaphore: who leaves lets no case of the inner in', async () => {
    const two = new Semaphore(2);
    const held = await two.acquire();
    const door = new Semaphore(0);
    const first = select(
      {
        door: (only) => door.acquire(only),
        large: (only) => two.acquire({ ...only, permits: 2 }),
        inner: (only) => select({ small: (one) => two.acquire(one), late: 100 }, only),
      },
      { biased: true },
    );
    expect(two.waiting).toBe(2);
    door.limit = 1;
    expect([two.waiting, two.available]).toEqual([0, 1]);
    expect((await first).key).toBe('door');
    held.release();
    expect(two.idle).toBe(true);
  });

  test('of two selects that meet on the same semaphores', async () => {
    const [a, b] = [new Semaphore(0), new Semaphore(0)];
    const one = select(
      { a: (only) => a.acquire(only), b: (only) => b.acquire(only) },
      { biased: true },
    );
    const two = select(
      { b: (only) => b.acquire(only), a: (only) => a.acquire(only) },
      { biased: true },
    );
    a.limit = 1;
    expect([a.waiting, b.waiting]).toEqual([1, 1]);
    b.limit = 1;
    expect([(await one).key, (await two).key]).toEqual(['a', 'b']);
    expect([a.waiting, b.waiting, a.available, b.available]).toEqual([0, 0, 0, 0]);
  });

  test('of a grant and an abort of the whole in the same step, in both orders', async () => {
    for (const abortsFirst of [true, false]) {
      const semaphore = new Semaphore(0);
      const controller = new AbortController();
      const first = select(
        { a: (only) => semaphore.acquire(only), b: (only) => semaphore.acquire(only) },
        { signal: controller.signal },
      );
      if (abortsFirst) controller.abort('over');
      semaphore.limit = 1;
      controller.abort('over');
      if (abortsFirst) await expect(first).rejects.toBe('over');
      else (await first).value.release();
      expect(semaphore.idle).toBe(true);
    }
  });
});

describe('what loses', () => {
  test('and is fulfilled all the same with something disposable, which is disposed of', async () => {
    for (const symbol of [dispose, asyncDispose]) {
      const { promise, resolve } = deferred<object>();
      const semaphore = new Semaphore(0);
      const first = select({ deaf: () => promise, permit: (only) => semaphore.acquire(only) });
      await nextMacrotask();
      semaphore.limit = 1;
      expect((await first).key).toBe('permit');
      const disposed = vi.fn();
      resolve({ [symbol]: disposed });
      await nextMacrotask();
      expect(disposed).toHaveBeenCalledTimes(1);
    }
  });

  test('with a permit: it goes back, also if its case did not pass the signal on', async () => {
    const [semaphore, other] = [new Semaphore(0), new Semaphore(0)];
    const first = select({ deaf: () => semaphore.acquire(), other: (only) => other.acquire(only) });
    await nextMacrotask();
    other.limit = 1;
    expect((await first).key).toBe('other');
    semaphore.limit = 1;
    await nextMacrotask();
    expect(semaphore.idle).toBe(true);
  });

  test('as a promise, whose value still belongs to the caller', async () => {
    const { promise, resolve } = deferred<object>();
    expect((await select({ promise, now: () => 1 })).key).toBe('now');
    const disposed = vi.fn();
    resolve({ [dispose]: disposed });
    await nextMacrotask();
    expect(disposed).not.toHaveBeenCalled();
    expect((await select({ promise })).key).toBe('promise');
  });

  test('by a rejection, which is not reported', async () => {
    const failing = foreign<never>();
    const first = select({ failing: failing.operation, late: 10 });
    await vi.advanceTimersByTimeAsync(10);
    expect((await first).key).toBe('late');
    await nextMacrotask();
  });

  test('finds the reason in its signal before it leaves', async () => {
    const semaphore = new Semaphore(0);
    const reasons: unknown[] = [];
    const first = select({
      a: (only) => semaphore.acquire(only).catch((reason) => void reasons.push(reason)),
      b: (only) => semaphore.acquire(only).catch((reason) => void reasons.push(reason)),
    });
    semaphore.limit = 2;
    await first;
    expect(reasons).toEqual([expect.objectContaining({ name: 'AbortError' })]);
  });
});

describe('the signal of a case', () => {
  test('is one of the platform when it is read, and always the same', async () => {
    const semaphore = new Semaphore(0);
    const seen: AbortSignal[] = [];
    const first = select(
      {
        reads: (only) => {
          const { signal } = only;
          seen.push(signal, only.signal, { ...only }.signal);
          expect(AbortSignal.any([signal])).toBeInstanceOf(AbortSignal);
          return new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason));
          });
        },
        permit: (only) => semaphore.acquire(only),
      },
      { biased: true },
    );
    await nextMacrotask();
    const [signal] = seen;
    expect(new Set(seen).size).toBe(1);
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal?.aborted).toBe(false);
    semaphore.limit = 1;
    expect(signal?.reason).toMatchObject({ name: 'AbortError' });
    expect((await first).key).toBe('permit');
  });

  test('has aborted if it is first read after the case has lost', async () => {
    const semaphore = new Semaphore(0);
    const given: SelectSignal[] = [];
    const first = select(
      {
        late: (only) => {
          given.push(only);
          return semaphore.acquire(only);
        },
        permit: (only) => semaphore.acquire({ ...only, priority: 1 }),
      },
      { biased: true },
    );
    semaphore.limit = 1;
    expect((await first).key).toBe('permit');
    expect(given[0]?.signal.reason).toMatchObject({ name: 'AbortError' });
  });

  test('is as good as what it is passed on in: as it is, spread, or with a signal of the caller instead', async () => {
    const semaphore = new Semaphore(0);
    const controller = new AbortController();
    const { signal } = controller;
    const first = select({
      asItIs: (only) => semaphore.acquire(only),
      spread: (only) => semaphore.acquire({ ...only, permits: 2 }),
      read: ({ signal }) => semaphore.acquire({ signal }),
      own: (only) => semaphore.acquire({ ...only, signal }),
    });
    await nextMacrotask();
    expect(semaphore.waiting).toBe(4);
    const failed = expect(first).rejects.toBe('mine');
    controller.abort('mine');
    await failed;
    expect(semaphore.waiting).toBe(0);
  });
});

describe('a promise that is selected again and again', () => {
  test('is asked once, and keeps nothing of selects that are over', async () => {
    const { promise, resolve } = deferred<string>();
    const then = vi.spyOn(promise, 'then');
    const semaphore = new Semaphore(1);
    for (let n = 0; n < 100; n++) {
      const first = await select(
        { promise, permit: (only) => semaphore.acquire(only) },
        { biased: true },
      );
      if (first.key === 'permit') first.value.release();
    }
    expect(then).toHaveBeenCalledTimes(1);
    resolve('end');
    const last = await select(
      { promise, permit: (only) => semaphore.acquire(only) },
      { biased: true },
    );
    expect(last).toEqual({ key: 'promise', value: 'end' });
  });

  test('wins all selects that wait for it', async () => {
    const { promise, reject } = deferred<string>();
    const all = [1, 2, 3].map(() => select({ promise, late: 10 }));
    const failed = all.map((each) => expect(each).rejects.toBe('end'));
    await nextMacrotask();
    reject('end');
    await Promise.all(failed);
    await expect(select({ promise, late: 10 })).rejects.toBe('end');
  });
});

describe('the order', () => {
  const ready = () => {
    const semaphore = new Semaphore(Number.POSITIVE_INFINITY);
    return (only: SelectSignal) => semaphore.acquire(only);
  };

  test('is random, so that all that are always ready get their turns', async () => {
    const stop = Promise.resolve();
    const cases = { a: ready(), b: ready(), stop, call: () => stop };
    const counts = new Map<string, number>();
    for (let n = 0; n < 400; n++) {
      const { key } = await select(cases);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    for (const key of ['a', 'b', 'stop', 'call']) expect(counts.get(key)).toBeGreaterThan(40);
  });

  test('is the one written, if biased, also before what has settled already', async () => {
    const stop = Promise.resolve();
    for (let n = 0; n < 20; n++) {
      expect((await select({ a: ready(), b: ready() }, { biased: true })).key).toBe('a');
      expect((await select({ stop, a: ready() }, { biased: true })).key).toBe('stop');
      expect((await select({ call: () => stop, a: ready() }, { biased: true })).key).toBe('call');
      expect((await select({ a: ready(), stop }, { biased: true })).key).toBe('a');
    }
  });

  test('is entered without delay by operations that wait', () => {
    const semaphores = [1, 2, 3].map(() => new Semaphore(0));
    const [a, b, c] = semaphores.map((each) => (only: SelectSignal) => each.acquire(only)) as [
      ReturnType<typeof ready>,
      ReturnType<typeof ready>,
      ReturnType<typeof ready>,
    ];
    const first = select({ a, b, late: 5, c }, { timeout: 10 });
    expect(semaphores.map((each) => each.waiting)).toEqual([1, 1, 1]);
    for (const semaphore of semaphores) semaphore.limit = 1;
    return first;
  });
});

describe('signal and timeout of the whole', () => {
  test('end all cases', async () => {
    const semaphore = new Semaphore(0);
    const other = foreign();
    const cases = {
      permit: (only: SelectSignal) => semaphore.acquire(only),
      other: other.operation,
    };
    const controller = new AbortController();
    const aborted = expect(select(cases, { signal: controller.signal })).rejects.toBe('enough');
    await nextMacrotask();
    controller.abort('enough');
    expect([semaphore.waiting, other.signals[0]?.reason]).toEqual([0, 'enough']);
    await aborted;

    const late = expect(select({ permit: cases.permit }, { timeout: 5 })).rejects.toMatchObject({
      name: 'TimeoutError',
      message: 'timed out after 5 ms',
    });
    await vi.advanceTimersByTimeAsync(5);
    expect(semaphore.waiting).toBe(0);
    await late;
  });

  test('refuse before anything starts', async () => {
    const start = vi.fn(never);
    await expect(select({ start }, { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(start).not.toHaveBeenCalled();
  });

  test('a timeout of 0 takes what can be had at once', async () => {
    const semaphore = new Semaphore(1);
    const cases = { stop: never(), permit: (only: SelectSignal) => semaphore.acquire(only) };
    expect((await select(cases, { timeout: 0 })).key).toBe('permit');
    const late = expect(select(cases, { timeout: 0 })).rejects.toThrow('timed out after 0 ms');
    await vi.advanceTimersByTimeAsync(0);
    await late;
    expect(semaphore.waiting).toBe(0);
  });

  test('abort a case that has won and is still under way, whose answer counts', async () => {
    const [mutex, semaphore] = [new Mutex(), new Semaphore(0)];
    const controller = new AbortController();
    const case_ = async (only: SelectSignal) => {
      using _lock = await mutex.lock(only);
      return semaphore.acquire(only).catch(() => 'cleaned up');
    };
    const first = select({ case_ }, { signal: controller.signal });
    await nextMacrotask();
    controller.abort();
    expect(await first).toEqual({ key: 'case_', value: 'cleaned up' });
    expect([mutex.locked, semaphore.waiting]).toEqual([false, 0]);
  });

  test('have no effect on what has been granted', async () => {
    const semaphore = new Semaphore(0);
    const controller = new AbortController();
    const { signal } = controller;
    const first = select({ permit: (only) => semaphore.acquire(only) }, { signal, timeout: 5 });
    semaphore.limit = 1;
    controller.abort();
    (await first).value.release();
    expect(semaphore.idle).toBe(true);
  });

  test('are listened to only while it waits', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const semaphore = new Semaphore(1);
    const cases = { permit: (only: SelectSignal) => semaphore.acquire(only), late: 5 };
    await select(cases, { signal, timeout: 9 });
    const late = select(cases, { signal, timeout: 9 });
    await vi.advanceTimersByTimeAsync(5);
    await late;
    expect(added.mock.calls.length).toBe(2);
    expect(removed.mock.calls.length).toBe(2);
  });
});

describe('what cannot be used', () => {
  test.each([
    [undefined, undefined, 'cases must be an object with a case to wait for, got undefined'],
    [7, undefined, 'cases must be an object with a case to wait for, got 7'],
    [{}, undefined, 'cases must be an object with a case to wait for, got object'],
    [
      { a: false, b: null, c: undefined },
      undefined,
      'cases must be an object with a case to wait for, got object',
    ],
    [
      { a: true },
      undefined,
      'case a must be a function, a promise or a number of milliseconds, got true',
    ],
    [
      { a: {} },
      undefined,
      'case a must be a function, a promise or a number of milliseconds, got object',
    ],
    [
      { a: '5' },
      undefined,
      'case a must be a function, a promise or a number of milliseconds, got "5"',
    ],
    [
      { a: -1 },
      undefined,
      'case a must be a function, a promise or a number of milliseconds, got -1',
    ],
    [
      { a: Number.NaN },
      undefined,
      'case a must be a function, a promise or a number of milliseconds, got NaN',
    ],
    [{ a: 5 }, { timeout: -1 }, 'timeout must be a number of milliseconds >= 0, got -1'],
    [{ a: 5 }, { signal: {} }, 'signal must be an AbortSignal, got object'],
    [{ a: 5 }, { biased: 1 }, 'biased must be a boolean, got 1'],
    [{ a: 5 }, { priority: 1 }, 'options has "priority", expected only biased, signal, timeout'],
  ])('%o with %o', async (cases, options, message) => {
    await expect(select(cases as never, options as never)).rejects.toThrow(message);
  });

  test('is refused before anything starts', async () => {
    const start = vi.fn(never);
    await expect(select({ start, wrong: true as never })).rejects.toThrow(TypeError);
    await expect(select({ start }, { biased: 1 as never })).rejects.toThrow(TypeError);
    expect(start).not.toHaveBeenCalled();
  });
});

test('in any order of releases, aborts and selects, each permit is held by exactly one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(
        fc.record({
          cases: fc.array(
            fc.record({
              semaphore: fc.nat(2),
              permits: fc.integer({ min: 1, max: 2 }),
              priority: fc.nat(1),
            }),
            { minLength: 1, maxLength: 4 },
          ),
          aborts: fc.boolean(),
          nested: fc.boolean(),
        }),
        { minLength: 1, maxLength: 8 },
      ),
      async (scheduler, programs) => {
        const semaphores = [1, 2, 3].map((limit) => new Semaphore(limit === 1 ? 2 : limit));
        const out = semaphores.map(() => 0);
        const run = async ({ cases, aborts, nested }: (typeof programs)[0]) => {
          const controller = new AbortController();
          await scheduler.schedule(Promise.resolve(), 'start');
          const entries = cases.map(({ semaphore, ...wish }, n) => [
            `${n}`,
            async (only: SelectSignal) => {
              const permit = await (semaphores[semaphore] as Semaphore).acquire({
                ...wish,
                ...only,
              });
              return { permit, semaphore };
            },
          ]);
          type Held = { permit: Permit; semaphore: number };
          const all = Object.fromEntries(entries) as Record<
            string,
            (only: SelectSignal) => Promise<Held>
          >;
          if (aborts)
            void scheduler.schedule(Promise.resolve(), 'abort').then(() => controller.abort());
          const { signal } = controller;
          const first = nested
            ? select({ inner: (only) => select(all, only), again: all[0] }, { signal }).then(
                (outer) => (outer.key === 'inner' ? outer.value : outer),
              )
            : select(all, { signal });
          const answer = await first.catch((error) => void expect(error.name).toBe('AbortError'));
          if (answer === undefined) return;
          const { permit, semaphore } = (answer as { value: Held }).value;
          out[semaphore] = (out[semaphore] as number) + permit.permits;
          semaphores.forEach(({ limit, available }, n) => {
            // Each held permit has a holder, or a winner that has not resumed yet.
            expect(limit - available).toBeGreaterThanOrEqual(out[n] as number);
          });
          await scheduler.schedule(Promise.resolve(), 'release');
          out[semaphore] = (out[semaphore] as number) - permit.permits;
          permit.release();
        };
        const running = programs.map(run);
        await scheduler.waitFor(Promise.all(running));
        for (const semaphore of semaphores)
          expect([semaphore.idle, semaphore.waiting]).toEqual([true, 0]);
      },
    ),
    { numRuns: 300 },
  );
});
