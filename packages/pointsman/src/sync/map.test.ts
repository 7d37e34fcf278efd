/** `map`: bounded concurrency, results in order or as they are ready, back-pressure, errors and leaving. */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type MapContext, type MapOptions, map } from './limiter/map.js';
import type { Work } from './limiter/run.js';
import { Semaphore } from './semaphore/semaphore.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A limiter made of a semaphore, which records the options of its requests. */
class Turns {
  readonly semaphore: Semaphore;
  readonly asked: object[] = [];

  constructor(readonly concurrency: number) {
    this.semaphore = new Semaphore(concurrency);
  }

  run<T>(fn: Work<T>, options: object) {
    this.asked.push(options);
    const { signal } = options as { signal: AbortSignal };
    return this.semaphore.run((permit) => fn(permit, { signal }), { signal });
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Advances the time until the promise has settled. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  let done = false;
  const mark = () => {
    done = true;
  };
  promise.then(mark, mark);
  for (let n = 0; !done && n < 2_000; n++) await vi.advanceTimersByTimeAsync(1);
  expect(done).toBe(true);
  return promise;
}

/** Sources that count the pulled inputs, and how often they were closed. */
function source(count: number) {
  const state = { pulled: 0, closed: 0 };
  function* generate() {
    try {
      for (let n = 0; n < count; n++) {
        state.pulled++;
        yield n;
      }
    } finally {
      state.closed++;
    }
  }
  async function* generateLater() {
    for (const n of generate()) {
      await null;
      yield n;
    }
  }
  return { state, sync: generate(), async: generateLater() };
}

/** A function whose calls the test settles. */
function jobs() {
  const running = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (reason: unknown) => void }
  >();
  const contexts: MapContext[] = [];
  let most = 0;
  const fn = (input: number, context: MapContext) =>
    new Promise<unknown>((resolve, reject) => {
      contexts.push(context);
      running.set(input, { resolve, reject });
      most = Math.max(most, running.size);
    }).finally(() => running.delete(input));
  return { running, contexts, fn, most: () => most };
}

/** Waits until only what the test controls is pending. */
const quiet = async () => {
  for (let n = 0; n < 3; n++) await nextMacrotask();
};

const delays = [5, 1, 3, 2, 4];
const slow = async (n: number) => {
  await sleep(delays[n % 5] as number);
  return n;
};

describe('results', () => {
  test.each([1, 2, 5, 100])(
    'come in the order of their inputs, %i at once',
    async (concurrency) => {
      for (const kind of ['sync', 'async'] as const) {
        const turns = new Turns(concurrency);
        const all = await settled(map(turns, source(20)[kind], slow).toArray());
        expect(all).toEqual(Array.from({ length: 20 }, (_, n) => n));
        expect(turns.semaphore.idle).toBe(true);
      }
    },
  );

  test('come as they are ready, if not ordered', async () => {
    const all = await settled(
      map(new Turns(5), [0, 1, 2, 3, 4], slow, { ordered: false }).toArray(),
    );
    expect(all).toEqual([1, 3, 2, 4, 0]);
  });

  test('of promises, of undefined values, of no inputs, and of other iterables', async () => {
    const inputs = [1, Promise.resolve(2)];
    expect(await map(new Turns(1), inputs, (n) => n * 2).toArray()).toEqual([2, 4]);
    expect(await map(new Turns(1), [undefined, 1], () => undefined).toArray()).toEqual([
      undefined,
      undefined,
    ]);
    expect(await map(new Turns(1), [], () => 1).toArray()).toEqual([]);
    expect(await map(new Turns(1), source(0).async, () => 1).toArray()).toEqual([]);
    expect(await map(new Turns(1), new Set('ab'), (text) => text).toArray()).toEqual(['a', 'b']);
    expect(await map(new Turns(1), 'ab', (text, { index }) => text + index).toArray()).toEqual([
      'a0',
      'b1',
    ]);
  });

  test('can be read again if the inputs can', async () => {
    const twice = map(new Turns(2), [1, 2], (n) => n);
    expect([await twice.toArray(), await twice.toArray()]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  test('nothing is pulled before the results are read', async () => {
    const { state, sync } = source(3);
    map(new Turns(2), sync, (n) => n);
    await quiet();
    expect(state.pulled).toBe(0);
  });
});

describe('back-pressure', () => {
  test.each(['sync', 'async'] as const)('pulls one input ahead: %s', async (kind) => {
    const { state, [kind]: inputs } = source(10);
    const { running, fn, most } = jobs();
    const turns = new Turns(2);
    const all = map(turns, inputs, fn).toArray();
    await quiet();
    expect([state.pulled, running.size]).toEqual([3, 2]);
    running.get(1)?.resolve('one');
    await quiet();
    expect([state.pulled, [...running.keys()]]).toEqual([4, [0, 2]]);
    for (let n = 0; n < 10; n++) {
      running.get(n)?.resolve(n);
      await quiet();
    }
    expect(await all).toEqual([0, 'one', 2, 3, 4, 5, 6, 7, 8, 9]);
    expect([most(), state.closed]).toEqual([2, 1]);
  });

  test('pulls nothing while as many results are unread as may run at once', async () => {
    const { state, sync } = source(100);
    const results = map(new Turns(3), sync, (n) => n)[Symbol.asyncIterator]();
    expect(await results.next()).toEqual({ done: false, value: 0 });
    await quiet();
    expect(state.pulled).toBeLessThanOrEqual(1 + 3 + 3);
    const before = state.pulled;
    await quiet();
    expect(state.pulled).toBe(before);
    for (let n = 0; n < before; n++) await results.next();
    expect(state.pulled).toBeGreaterThan(before);
    await results.return?.();
    expect(state.closed).toBe(1);
  });

  test('has a bound if concurrency has none', async () => {
    const { state, sync } = source(10_000);
    const results = map(new Turns(Number.POSITIVE_INFINITY), sync, (n) => n)[
      Symbol.asyncIterator
    ]();
    await results.next();
    await quiet();
    expect(state.pulled).toBeLessThanOrEqual(2_000);
    await results.return?.();
  });

  test('an input is pulled before its request, whose options are computed from it', async () => {
    const { state, sync } = source(10);
    const { running, fn } = jobs();
    const turns = new Turns(1);
    const options: MapOptions<number> = {
      weight: (n) => n + 1,
      key: (n, index) => n + index,
      priority: 7,
    };
    const results = map(turns, sync, fn, options)[Symbol.asyncIterator]();
    const first = results.next();
    await quiet();
    expect([state.pulled, running.size]).toEqual([2, 1]);
    expect(turns.asked).toMatchObject([
      { weight: 1, key: 0, priority: 7 },
      { weight: 2, key: 2, priority: 7 },
    ]);
    running.get(0)?.resolve('zero');
    expect((await first).value).toBe('zero');
    await results.return?.();
    await quiet();
    expect(turns.semaphore.waiting).toBe(0);
  });

  test('the end of the inputs needs no turn', async () => {
    const turns = new Turns(1);
    const held = await turns.semaphore.acquire();
    expect(await map(turns, source(0).sync, (n) => n).toArray()).toEqual([]);
    expect(turns.semaphore.waiting).toBe(0);
    const { state, sync } = source(1);
    const { running, fn } = jobs();
    const all = map(turns, sync, fn).toArray();
    await quiet();
    held.release();
    await quiet();
    const other = turns.semaphore.acquire();
    running.get(0)?.resolve(0);
    // Another request holds the only turn, but the map needs none.
    expect(await all).toEqual([0]);
    (await other).release();
    await quiet();
    expect([turns.semaphore.idle, state.closed]).toEqual([true, 1]);
  });
});

describe('an error', () => {
  test('aborts what runs, closes the source, and ends the pulling', async () => {
    for (const kind of ['sync', 'async'] as const) {
      const { state, [kind]: inputs } = source(10);
      const { running, contexts, fn } = jobs();
      const turns = new Turns(3);
      const all = map(turns, inputs, fn).toArray();
      const failed = expect(all).rejects.toThrow('lost');
      await quiet();
      running.get(1)?.reject(new Error('lost'));
      await failed;
      expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
      expect([state.pulled, state.closed]).toEqual([4, 1]);
      // A function that continues after the abort holds its turn, and its error is ignored.
      expect(turns.semaphore.available).toBe(1);
      running.get(0)?.reject(new Error('later'));
      running.get(2)?.resolve(2);
      await quiet();
      expect([turns.semaphore.idle, state.pulled]).toEqual([true, 4]);
    }
  });

  test('may be thrown synchronously', async () => {
    const thrown = map(new Turns(2), [1, 2, 3], () => {
      throw new Error('lost');
    });
    await expect(thrown.toArray()).rejects.toThrow('lost');
  });

  test('is collected with the others, and thrown after the last result', async () => {
    const results: number[] = [];
    const turns = new Turns(2);
    const read = async () => {
      const fn = async (n: number) => {
        if (n % 2 === 1) throw new Error(`lost ${n}`);
        return n;
      };
      for await (const n of map(turns, source(6).sync, fn, { errors: 'collect' })) results.push(n);
    };
    const error = await read().catch((reason) => reason);
    expect(results).toEqual([0, 2, 4]);
    expect(error).toBeInstanceOf(AggregateError);
    expect(error.errors.map(({ message }: Error) => message)).toEqual([
      'lost 1',
      'lost 3',
      'lost 5',
    ]);
    expect(turns.semaphore.idle).toBe(true);
  });

  test('of the source ends the map; later errors of running functions are ignored', async () => {
    async function* inputs() {
      yield 1;
      throw new Error('no more');
    }
    for (const errors of ['stop', 'collect'] as const) {
      const turns = new Turns(2);
      const { running, fn } = jobs();
      const all = map(turns, inputs(), fn, { errors }).toArray();
      const failed = all.catch((reason) => reason);
      await quiet();
      running.get(1)?.reject(new Error('lost'));
      const error = await failed;
      if (errors === 'stop') expect(error.message).toBe('no more');
      else expect(error.errors.map(({ message }: Error) => message)).toEqual(['no more', 'lost']);
      await quiet();
      expect(turns.semaphore.idle).toBe(true);
    }
  });

  test('of a rejected input, or of a function of the options', async () => {
    const rejected = Promise.reject(new Error('lost'));
    await expect(map(new Turns(1), [rejected], () => 1).toArray()).rejects.toThrow('lost');
    const weight = () => {
      throw new Error('too heavy');
    };
    const { state, sync } = source(3);
    await expect(map(new Turns(1), sync, () => 1, { weight }).toArray()).rejects.toThrow(
      'too heavy',
    );
    expect(state.closed).toBe(1);
  });

  test('of an input or of a function of the options is collected', async () => {
    const results: number[] = [];
    const key = (n: number) => {
      if (n === 4) throw new Error('no key');
      return n;
    };
    const inputs = [1, Promise.reject(new Error('lost')), 3, 4, 5];
    const mapped = map(new Turns(2), inputs, (n) => n, { errors: 'collect', key });
    const read = async () => {
      for await (const n of mapped) results.push(n);
    };
    const { errors } = await read().catch((error) => error);
    expect(errors.map(({ message }: Error) => message)).toEqual(['lost', 'no key']);
    expect(results).toEqual([1, 3, 5]);
  });

  test('of closing the source does not hide an earlier error', async () => {
    const inputs = {
      [Symbol.iterator]: () => ({
        next: () => ({ value: 1 }),
        return: () => {
          throw new Error('does not close');
        },
      }),
    };
    const lost = () => {
      throw new Error('lost');
    };
    await expect(map(new Turns(1), inputs, lost).toArray()).rejects.toThrow('lost');
    const first = async () => {
      for await (const n of map(new Turns(1), inputs, (one) => one)) return n;
    };
    await expect(first()).rejects.toThrow('does not close');
  });

  test('of the limiter ends the pulling; running work continues and its results can be read', async () => {
    const turns = new Turns(2);
    const { running, contexts, fn } = jobs();
    const { state, sync } = source(5);
    const seen: unknown[] = [];
    const all = (async () => {
      for await (const result of map(turns, sync, fn)) seen.push(result);
    })();
    const ended = expect(all).rejects.toThrow('closed');
    await quiet();
    turns.semaphore.close(new Error('closed'));
    await quiet();
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([false, false]);
    for (const n of [0, 1]) running.get(n)?.resolve(n);
    await ended;
    expect(seen).toEqual([0, 1]);
    expect([state.pulled, state.closed, turns.semaphore.idle]).toEqual([3, 1, true]);
  });
});

describe('leaving', () => {
  test.each(['sync', 'async'] as const)(
    'a loop aborts what runs and closes the source: %s',
    async (kind) => {
      const { state, [kind]: inputs } = source(100);
      const signals: AbortSignal[] = [];
      const turns = new Turns(3);
      const fn = async (n: number, { signal }: MapContext) => {
        signals.push(signal);
        if (n > 0) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return n;
      };
      for await (const n of map(turns, inputs, fn)) {
        expect(n).toBe(0);
        break;
      }
      expect(signals.every(({ aborted }) => aborted)).toBe(true);
      const { pulled } = state;
      await quiet();
      expect([state.pulled, state.closed, turns.semaphore.idle]).toEqual([pulled, 1, true]);
    },
  );

  test('does not wait for a pending input', async () => {
    const never = { next: () => new Promise<IteratorResult<number>>(() => {}), return: vi.fn() };
    let asked = 0;
    const inputs = {
      [Symbol.asyncIterator]: () => ({
        ...never,
        next: () => (asked++ === 0 ? Promise.resolve({ value: 1, done: false }) : never.next()),
      }),
    };
    for await (const _ of map(new Turns(2), inputs, (n) => n)) break;
    expect(never.return).toHaveBeenCalledTimes(1);
  });

  test('by an abort, before and while it is read', async () => {
    const before = map(new Turns(1), [1], () => 1, { signal: AbortSignal.abort('no') });
    await expect(before.toArray()).rejects.toBe('no');
    const controller = new AbortController();
    const turns = new Turns(1);
    const { state, sync } = source(5);
    const { running, contexts, fn } = jobs();
    const all = expect(map(turns, sync, fn, { signal: controller.signal }).toArray()).rejects.toBe(
      'over',
    );
    await quiet();
    controller.abort('over');
    expect(contexts[0]?.signal.reason).toBe('over');
    expect(turns.semaphore.waiting).toBe(0);
    await all;
    expect(state.closed).toBe(1);
    running.get(0)?.resolve(0);
    await quiet();
    expect(turns.semaphore.idle).toBe(true);
  });

  test('holds no turn for an input that never arrives', async () => {
    const silent = () => {
      let asked = 0;
      const next = () =>
        asked++ ? new Promise<never>(() => {}) : Promise.resolve({ value: 1, done: false });
      return { [Symbol.asyncIterator]: () => ({ next }) };
    };
    const leave = async (turns: Turns) => {
      for await (const n of map(turns, silent(), (one) => one)) return n;
    };
    const fail = (turns: Turns) =>
      map(turns, silent(), () => Promise.reject('lost'))
        .toArray()
        .catch((error) => error);
    for (const [end, outcome] of [
      [leave, 1],
      [fail, 'lost'],
    ] as const) {
      const turns = new Turns(2);
      expect(await end(turns)).toBe(outcome);
      await quiet();
      expect(turns.semaphore.idle).toBe(true);
    }
  });

  test('before the first read pulls nothing', async () => {
    const { state, sync } = source(3);
    const signal = AbortSignal.abort('over');
    await expect(map(new Turns(1), sync, (n) => n, { signal }).toArray()).rejects.toBe('over');
    expect(state.pulled).toBe(0);
  });

  test('after the last result aborts nothing', async () => {
    const signals: AbortSignal[] = [];
    await map(new Turns(2), [1, 2, 3], (_, { signal }) => void signals.push(signal)).toArray();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });
});

test('bad arguments are refused at once', () => {
  const turns = new Turns(1);
  const refused = (...args: unknown[]) =>
    (map as (...all: unknown[]) => unknown).bind(undefined, turns, ...args);
  const fn = () => 1;
  expect(refused(7, fn)).toThrow('inputs must be an iterable or an async iterable, got 7');
  expect(refused(undefined, fn)).toThrow('inputs must be');
  expect(refused([], undefined)).toThrow('fn must be a function, got undefined');
  expect(refused([], fn, { ordered: 1 })).toThrow('ordered must be a boolean, got 1');
  expect(refused([], fn, { errors: 'ignore' })).toThrow(
    'errors must be one of stop, collect, got "ignore"',
  );
  expect(refused([], fn, { signal: {} })).toThrow('signal must be an AbortSignal');
  expect(refused([], fn, { concurrency: 2 })).toThrow('options has "concurrency"');
});
