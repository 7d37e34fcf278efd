/**
 * What the reference model of `limiter.law.test.ts` does not cover: clocks, timeouts, cancellation within one step, changes
 * of the kinds of limits, back-pressure, `runTimeout`, `maxKeys` and bad input.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { asyncDispose } from '../dispose.js';
import {
  type Clock,
  ClosedError,
  Limiter,
  type LimiterOptions,
  type Permit,
  QueueFullError,
  type RunContext,
  Semaphore,
  select,
  TimeoutError,
} from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const flush = async () => {
  for (let hop = 0; hop < 12; hop++) await null;
};

const pass = async (ms: number) => {
  await flush();
  await vi.advanceTimersByTimeAsync(ms);
  await flush();
};

/** Runs `count` functions, and records when each starts. */
function startsOf(limiter: Limiter, count: number, options?: object): number[] {
  const zero = performance.now();
  const starts: number[] = [];
  for (let n = 0; n < count; n++) {
    limiter.run(() => void starts.push(performance.now() - zero), options).catch(() => {});
  }
  return starts;
}

describe('time', () => {
  test('a wait for time counts from its beginning, not from the last reading of the clock', async () => {
    const rate = { limit: 1, per: 10, burst: 2 };
    const limiter = new Limiter({ concurrency: 1, perKey: { rate } });
    const permit = limiter.tryAcquire();
    const starts = startsOf(limiter, 2);
    await pass(5);
    // Lets the first in, and from now on the second waits for its rate.
    permit?.release();
    await pass(10);
    expect(starts).toEqual([5, 10]);
  });

  test('a function that fails counts for the rate', async () => {
    const limiter = new Limiter({ rate: { limit: 1, per: 100 } });
    await limiter.run(() => Promise.reject('no')).catch(() => {});
    expect(limiter.tryAcquire()).toBeUndefined();
    await pass(100);
    expect(limiter.tryAcquire()).toBeDefined();
  });

  test('a start is logged after the synchronous part of the function, or after the caller of acquire continues', async () => {
    let now = 0;
    const clock: Clock = {
      now: () => now,
      setTimeout: (callback, ms) => setTimeout(callback, ms),
      clearTimeout: (timer) => clearTimeout(timer as number),
    };
    const limiter = new Limiter({ rate: { limit: 1, per: 100 }, clock });
    limiter.run(() => {
      now += 7;
    });
    now = 100;
    expect(limiter.tryAcquire()).toBeUndefined();
    now = 107;
    expect(limiter.tryAcquire()).toBeDefined();
    // Granted now, and logged when the caller continues.
    const late = new Limiter({ rate: { limit: 1, per: 100 }, clock });
    const started = late.acquire().then(() => {
      now += 50;
    });
    await started;
    await flush();
    now = 107 + 149;
    expect(late.tryAcquire()).toBeUndefined();
    now = 107 + 150;
    expect(late.tryAcquire()).toBeDefined();
  });

  test('a timer that fires early is set again; one that fires late starts no more than the limit', async () => {
    let now = 0;
    let timers: { callback: () => void; ms: number }[] = [];
    const clock: Clock = {
      now: () => now,
      setTimeout: (callback, ms) => timers[timers.push({ callback, ms }) - 1],
      clearTimeout: (timer) => {
        timers = timers.filter((each) => each !== timer);
      },
    };
    const fire = (at: number) => {
      now = at;
      const [timer] = timers.splice(0);
      timer?.callback();
    };
    const limiter = new Limiter({ rate: { limit: 1, per: 100 }, clock });
    const starts: number[] = [];
    for (let n = 0; n < 3; n++) limiter.run(() => void starts.push(now));
    await flush();
    expect(timers.map(({ ms }) => ms)).toEqual([100]);
    fire(99.5);
    expect(starts).toEqual([0]);
    expect(timers.map(({ ms }) => ms)).toEqual([1]);
    fire(450);
    await flush();
    expect(starts).toEqual([0, 450]);
    expect(timers.map(({ ms }) => ms)).toEqual([100]);
    // The clock was set back: the timer shows that 100 ms have passed, and the time goes on from there.
    fire(10);
    await flush();
    expect(starts).toEqual([0, 450, 10]);
    expect(timers).toEqual([]);
    limiter.run(() => void starts.push(now));
    expect(timers.map(({ ms }) => ms)).toEqual([100]);
    now = 109;
    expect(limiter.tryAcquire()).toBeUndefined();
    fire(110);
    await flush();
    expect(starts).toEqual([0, 450, 10, 110]);
  });

  test('a timer that cannot be cleared has no effect', async () => {
    let now = 0;
    let timers: { callback: () => void; at: number }[] = [];
    const clock = {
      now: () => now,
      setTimeout: (callback: () => void, ms: number) =>
        void timers.push({ callback, at: now + ms }),
      clearTimeout: () => {},
    };
    const limiter = new Limiter({ perKey: { rate: { limit: 1, per: 10 } }, clock });
    const starts: number[] = [];
    const call = () => limiter.run(() => starts.push(now), { key: 'a' });
    await call();
    const second = call();
    for (now of [5, 10, 20]) {
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter((timer) => !due.includes(timer));
      for (const { callback } of due) callback();
      await flush();
    }
    await second;
    expect(starts).toEqual([0, 10]);
    expect(limiter.keyCount).toBe(0);
  });

  test('a wait that is longer than the longest timer', async () => {
    const month = 30 * 24 * 3_600_000;
    const limiter = new Limiter({ rate: { limit: 1, per: month } });
    const starts = startsOf(limiter, 2);
    await pass(month - 1);
    expect(starts).toEqual([0]);
    await pass(1);
    expect(starts).toEqual([0, month]);
  });
});

describe('keys', () => {
  test('after a request that overtakes its key, the key that then has the turn is served', async () => {
    const limiter = new Limiter({ concurrency: 3 });
    const order: string[] = [];
    const run = (name: string, options: object) =>
      limiter.run(() => {
        order.push(name);
        return new Promise(() => {});
      }, options);
    run('first', {});
    run('heavy', { key: 'a', weight: 3 });
    run('light', { key: 'b' });
    await flush();
    expect(order).toEqual(['first']);
    limiter.acquire({ key: 'a', priority: 1 }).then(() => order.push('urgent'));
    await flush();
    expect(order).toEqual(['first', 'urgent', 'light']);
  });
});

describe('giving up', () => {
  test('by a timeout; a timeout of 0 does not wait', async () => {
    const limiter = new Limiter({ rate: { limit: 1, per: 100 }, name: 'api' });
    await limiter.acquire({ timeout: 0 });
    const none = limiter.acquire({ timeout: 0 });
    await expect(none).rejects.toThrow(TimeoutError);
    const late = expect(limiter.acquire({ timeout: 50 })).rejects.toThrow(
      'api: timed out after 50 ms',
    );
    await pass(50);
    await late;
    expect(limiter.waiting).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each(['before', 'after'])('by an abort in the step of the grant, %s it', async (when) => {
    const limiter = new Limiter({ concurrency: 1 });
    const permit = await limiter.acquire();
    const controller = new AbortController();
    const waiter = limiter.acquire({ signal: controller.signal });
    if (when === 'before') controller.abort('gone');
    permit.release();
    controller.abort('gone');
    if (when === 'before') await expect(waiter).rejects.toBe('gone');
    else (await waiter).release();
    expect(limiter.idle).toBe(true);
  });

  test('an aborted request does not start when another request of the same signal leaves first', async () => {
    const limiter = new Limiter({ concurrency: 2 });
    await limiter.acquire();
    const controller = new AbortController();
    const { signal } = controller;
    const all = [2, 1, 1].map((weight) => limiter.acquire({ weight, signal }));
    controller.abort('all');
    for (const one of all) await expect(one).rejects.toBe('all');
    expect(limiter.stats).toMatchObject({ started: 1, cancelled: 3 });
  });

  test('by 2,000 requests at once', async () => {
    const limiter = new Limiter({ concurrency: 1, perKey: { rate: { limit: 5, per: 100 } } });
    const permit = await limiter.acquire();
    const controllers = Array.from({ length: 2_000 }, () => new AbortController());
    const all = controllers.map(({ signal }, n) =>
      limiter.run(() => {}, { signal, key: n % 7 }).catch((reason) => reason),
    );
    for (const controller of controllers) controller.abort('storm');
    expect(limiter.waiting).toBe(0);
    expect(new Set(await Promise.all(all))).toEqual(new Set(['storm']));
    permit.release();
    expect(limiter.stats).toMatchObject({ started: 1, cancelled: 2_000 });
  });
});

describe('as cases of a select', () => {
  test('the first case that is granted wins in that step, and the other leaves', async () => {
    const limiter = new Limiter({ concurrency: 1, rate: { limit: 5, per: 100 } });
    const either = () =>
      select({ one: (only) => limiter.acquire(only), other: (only) => limiter.acquire(only) });
    const { value: permit } = await either();
    expect([limiter.running, limiter.waiting]).toEqual([1, 0]);
    const waiting = either();
    await flush();
    expect(limiter.waiting).toBe(2);
    permit.release();
    expect([limiter.running, limiter.waiting]).toEqual([1, 0]);
    (await waiting).value.release();
    expect(limiter.stats).toMatchObject({ started: 2, finished: 2 });
  });

  test('a case that has lost is passed over and uses up nothing', async () => {
    const limiter = new Limiter({ concurrency: 1, rate: { limit: 2, per: 100 } });
    const semaphore = new Semaphore(0);
    const permit = await limiter.acquire();
    const selected = select({
      start: (only) => limiter.acquire(only),
      permit: (only) => semaphore.acquire(only),
    });
    await flush();
    const next = limiter.acquire();
    semaphore.limit = 1;
    permit.release();
    expect((await selected).key).toBe('permit');
    (await next).release();
    expect(limiter.stats).toMatchObject({ started: 2, cancelled: 1 });
  });

  test('a case that wins lets other requests start in the same step', async () => {
    const limiter = new Limiter({ concurrency: 3 });
    const first = await limiter.acquire({ weight: 3 });
    const order: string[] = [];
    const either = select(
      {
        light: (only) => limiter.acquire(only),
        heavy: (only) => limiter.acquire({ weight: 3, ...only }),
      },
      { biased: true },
    ).then(({ key }) => order.push(key));
    await flush();
    const others = [3, 4].map((n) => limiter.acquire().then(() => order.push(`${n}`)));
    first.release();
    expect([limiter.running, limiter.waiting]).toEqual([3, 0]);
    await Promise.all([either, ...others]);
    expect(order.sort()).toEqual(['3', '4', 'light']);
  });
});

describe('a full queue', () => {
  const full = async (whenFull?: LimiterOptions['whenFull']) => {
    const limiter = new Limiter({ concurrency: 1, maxWaiting: 2, whenFull, name: 'api' });
    const permit = await limiter.acquire();
    const order: unknown[] = [];
    const ask = (name: string, priority = 0) =>
      limiter
        .run(() => order.push(name), { priority })
        .catch((error) => order.push(`${name}: ${error.name}`));
    return { limiter, permit, order, ask };
  };

  test('refuses new requests', async () => {
    const { limiter, permit, order, ask } = await full();
    for (const name of ['a', 'b', 'c']) ask(name);
    await expect(limiter.acquire()).rejects.toThrow(QueueFullError);
    await expect(limiter.acquire()).rejects.toThrow('api: the queue is full: 2 waiting');
    permit.release();
    await flush();
    expect(order).toEqual(['c: QueueFullError', 'a', 'b']);
    expect(limiter.stats.dropped).toBe(3);
  });
});

describe('run', () => {
  test('starts at once if it can, and releases the permit of a function that fails', async () => {
    const limiter = new Limiter({ concurrency: 1 });
    let started = false;
    const failing = limiter.run(() => {
      started = true;
      throw new Error('lost');
    });
    expect(started).toBe(true);
    await expect(failing).rejects.toThrow('lost');
    expect(limiter.idle).toBe(true);
    expect(limiter.stats).toEqual({ started: 1, finished: 1, failed: 1, dropped: 0, cancelled: 0 });
  });
});

describe('pause and setLimits', () => {
  test('reject a request that is too heavy when its turn comes, also behind one that starts', async () => {
    const limiter = new Limiter({ concurrency: 2 });
    const held = [await limiter.acquire(), await limiter.acquire()];
    const light = limiter.acquire({ timeout: 1_000 });
    const heavy = limiter.acquire({ weight: 2 });
    limiter.setLimits({ concurrency: 1 });
    const rejected = expect(heavy).rejects.toThrow(RangeError);
    for (const permit of held) permit.release();
    expect(limiter.waiting).toBe(0);
    (await light).release();
    await rejected;
  });

  test('a paused limiter starts nothing and sets no timer', async () => {
    const limiter = new Limiter({ rate: { limit: 1, per: 100 } });
    const starts = startsOf(limiter, 2);
    limiter.pause();
    expect([limiter.paused, vi.getTimerCount()]).toEqual([true, 0]);
    await pass(500);
    expect(starts).toEqual([0]);
    limiter.resume();
    await flush();
    expect(starts).toEqual([0, 500]);
  });

  test('a longer window counts earlier starts, and assumes the worst for those that were forgotten', async () => {
    const known = new Limiter({ rate: { limit: 3, per: 100 } });
    startsOf(known, 2);
    await pass(50);
    known.setLimits({ rate: { limit: 3, per: 1_000 } });
    const starts = startsOf(known, 2);
    await pass(2_000);
    expect(starts).toEqual([0, 950]);

    const forgotten = new Limiter({ rate: { limit: 3, per: 100 } });
    startsOf(forgotten, 1);
    await pass(150);
    startsOf(forgotten, 1);
    forgotten.setLimits({ rate: { limit: 3, per: 1_000 } });
    const [next] = [startsOf(forgotten, 2)];
    await pass(2_000);
    expect(next).toEqual([850, 850]);
  });

  test('a bucket keeps what is missing from it', async () => {
    const limiter = new Limiter({ rate: { limit: 1, per: 10, burst: 4 } });
    startsOf(limiter, 4);
    await pass(10);
    limiter.setLimits({ rate: { limit: 1, per: 100, burst: 4 } });
    const starts = startsOf(limiter, 3);
    await pass(300);
    expect(starts).toEqual([0, 100, 200]);
  });

  test('a new rate counts as used up, unless nothing has started yet', async () => {
    const limiter = new Limiter({ concurrency: 5 });
    limiter.setLimits({ rate: { limit: 2, per: 100 } });
    const starts = startsOf(limiter, 1);
    limiter.setLimits({
      rate: [
        { limit: 2, per: 100 },
        { limit: 5, per: 50, burst: 5, name: 'bucket' },
      ],
    });
    const others = startsOf(limiter, 2);
    await pass(200);
    expect([starts, others]).toEqual([[0], [10, 100]]);
  });

  test('a start that changes the limits is not counted twice', async () => {
    const limiter = new Limiter({ rate: { limit: 1, per: 100 } });
    limiter.run(() => limiter.setLimits({ rate: { limit: 2, per: 100, name: 'other' } }));
    const starts = startsOf(limiter, 3);
    await pass(300);
    expect(starts).toEqual([100, 100, 200]);
  });
});

describe('waitForSpace and close', () => {
  test('resolves in FIFO order, for no more callers than there is space', async () => {
    const limiter = new Limiter({ concurrency: 1, maxWaiting: 2 });
    const permits = [await limiter.acquire()];
    const told: string[] = [];
    const produce = async (name: string) => {
      await limiter.waitForSpace();
      told.push(name);
      permits.push(await limiter.acquire());
    };
    const all = ['a', 'b', 'c', 'd'].map(produce);
    await flush();
    expect(told).toEqual(['a', 'b']);
    const gone = new AbortController();
    const leaving = limiter.waitForSpace({ signal: gone.signal });
    const late = expect(limiter.waitForSpace({ timeout: 5 })).rejects.toThrow(TimeoutError);
    gone.abort('bye');
    await expect(leaving).rejects.toBe('bye');
    await pass(5);
    await late;
    for (const expected of ['abc', 'abcd', 'abcd', 'abcd', 'abcd']) {
      permits.shift()?.release();
      await flush();
      expect(told.join('')).toBe(expected);
    }
    await Promise.all(all);
    expect(limiter.stats).toMatchObject({ started: 5, finished: 5, dropped: 0 });
    // Space that the caller did not use is free again.
    await Promise.all([1, 2, 3, 4, 5].map(() => limiter.waitForSpace()));
    await new Limiter({ concurrency: 1 }).waitForSpace();
  });

  test('the reservation of a caller ends with its request', async () => {
    const limiter = new Limiter({ concurrency: 4, maxWaiting: 1 });
    for (let n = 0; n < 4; n++) {
      await limiter.waitForSpace({ timeout: 0 });
      expect(limiter.tryAcquire()).toBeDefined();
    }
    await limiter.waitForSpace({ timeout: 0 });
    const waiter = limiter.acquire();
    await expect(limiter.waitForSpace({ timeout: 0 })).rejects.toThrow(TimeoutError);
    const space = limiter.waitForSpace();
    limiter.setLimits({ concurrency: 5 });
    await Promise.all([waiter, space]);
  });

  test('with maxWaiting 0, resolves when a request would start at once', async () => {
    const limiter = new Limiter({ concurrency: 2, rate: { limit: 1, per: 100 }, maxWaiting: 0 });
    const starts: number[] = [];
    const produce = async () => {
      await limiter.waitForSpace();
      starts.push(performance.now() - begin);
      await limiter.run(() => new Promise((resolve) => setTimeout(resolve, 150)));
    };
    const begin = performance.now();
    const all = Promise.all([1, 2, 3].map(produce));
    for (let n = 0; n < 10; n++) {
      await pass(50);
      await flush();
    }
    await all;
    expect(starts).toEqual([0, 100, 200]);
    expect(limiter.stats).toMatchObject({ finished: 3, dropped: 0 });

    await pass(100);
    limiter.pause();
    const space = limiter.waitForSpace();
    await expect(limiter.waitForSpace({ timeout: 0 })).rejects.toThrow(TimeoutError);
    limiter.resume();
    await space;
    limiter.penalize(20);
    await expect(limiter.waitForSpace({ timeout: 0 })).rejects.toThrow(TimeoutError);
    const late = limiter.waitForSpace();
    await pass(20);
    await late;
  });

  test('is rejected by close and by shutdown, but not by cancel', async () => {
    for (const end of ['close', 'shutdown', 'cancel'] as const) {
      const limiter = new Limiter({ concurrency: 1, maxWaiting: 1 });
      const permit = await limiter.acquire();
      const waiting = limiter.run(() => 'served').catch((error) => error.name);
      const outcome = limiter.waitForSpace().then(
        () => 'space',
        (error) => error.name,
      );
      const ended = limiter[end]();
      permit.release();
      expect(await outcome).toBe(end === 'cancel' ? 'space' : 'ClosedError');
      expect(await waiting).toBe(
        { close: 'ClosedError', shutdown: 'served', cancel: 'AbortError' }[end],
      );
      await ended;
    }
  });

  test('close and cancel leave no request pending', async () => {
    const limiter = new Limiter({ concurrency: 1, maxWaiting: 2 });
    const permit = await limiter.acquire();
    const all = [limiter.run(() => {}), limiter.acquire({ key: 'a', timeout: 1_000 })];
    limiter.cancel();
    for (const one of all) await expect(one).rejects.toMatchObject({ name: 'AbortError' });
    const last = limiter.acquire();
    limiter.close();
    limiter.close('again');
    await expect(last).rejects.toThrow(ClosedError);
    await expect(limiter.run(() => {})).rejects.toThrow(ClosedError);
    expect(() => limiter.tryAcquire()).toThrow(ClosedError);
    let drained = false;
    limiter[asyncDispose]().then(() => {
      drained = true;
    });
    await flush();
    expect([drained, limiter.closed, vi.getTimerCount()]).toEqual([false, true, 0]);
    permit.release();
    await flush();
    expect([drained, limiter.keyCount]).toEqual([true, 0]);
  });
});

describe('shutdown', () => {
  test('ends a map after the pulled inputs; their results can be read', async () => {
    const limiter = new Limiter({ concurrency: 2 });
    const seen: number[] = [];
    const aborted: boolean[] = [];
    const all = (async () => {
      const work = async (n: number, { signal }: RunContext) => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        aborted.push(signal.aborted);
        return n;
      };
      for await (const n of limiter.map([1, 2, 3, 4, 5], work)) seen.push(n);
    })();
    const refused = expect(all).rejects.toThrow(ClosedError);
    await pass(5);
    const ended = limiter.shutdown();
    await pass(15);
    await Promise.all([ended, refused]);
    expect([seen, aborted]).toEqual([
      [1, 2, 3],
      [false, false, false],
    ]);
  });
});

describe('runTimeout', () => {
  const never = () => new Promise<never>(() => {});

  test('aborts the work, rejects at once and frees the slot', async () => {
    const limiter = new Limiter({ concurrency: 1, name: 'api' });
    const reasons: unknown[] = [];
    const hang = (_: Permit, { signal }: RunContext) => {
      signal.onabort = () => reasons.push(signal.reason);
      return never();
    };
    const one = limiter.run(hang, { runTimeout: 50 });
    const two = limiter.run(hang, { runTimeout: 20 });
    const outcomes = Promise.allSettled([one, two]);
    await pass(49);
    expect([limiter.running, limiter.waiting]).toEqual([1, 1]);
    await pass(1);
    // The second waited for 50 ms; waiting does not count.
    expect([reasons.length, limiter.running, limiter.waiting]).toEqual([1, 1, 0]);
    await pass(20);
    const errors = (await outcomes).map((outcome) => (outcome as PromiseRejectedResult).reason);
    expect(errors[0]).toBeInstanceOf(TimeoutError);
    expect(errors.map(({ message }) => message)).toEqual([
      'api: the function ran for more than 50 ms',
      'api: the function ran for more than 20 ms',
    ]);
    expect(reasons).toEqual(errors);
    expect([limiter.stats.failed, limiter.idle, vi.getTimerCount()]).toEqual([2, true, 0]);
  });

  test('has no effect on work that ends in time, and leaves no timer', async () => {
    const limiter = new Limiter({ concurrency: 1 });
    const options = { runTimeout: 50, signal: new AbortController().signal };
    expect(await limiter.run(() => 1, options)).toBe(1);
    await expect(limiter.run(() => Promise.reject('no'), options)).rejects.toBe('no');
    const lost = () => {
      throw new Error('lost');
    };
    await expect(limiter.run(lost, options)).rejects.toThrow('lost');
    expect(vi.getTimerCount()).toBe(0);
    // An error that the abort causes does not hide the TimeoutError.
    const strict = limiter.run(
      (_, { signal }) =>
        new Promise((_, reject) => {
          signal.onabort = () => reject('aborted');
        }),
      { runTimeout: 0 },
    );
    const rejected = expect(strict).rejects.toThrow(TimeoutError);
    await pass(1);
    await rejected;
    await pass(100);
  });

  test.each([undefined, 1_000])(
    'the signal of the options is passed on, with a runTimeout of %s',
    async (runTimeout) => {
      const limiter = new Limiter({ concurrency: 1 });
      const controller = new AbortController();
      const run = limiter.run(
        (_, { signal }) =>
          new Promise((_, reject) => {
            signal.onabort = () => reject(signal.reason);
          }),
        { signal: controller.signal, runTimeout },
      );
      controller.abort('enough');
      await expect(run).rejects.toBe('enough');
      expect([limiter.idle, vi.getTimerCount()]).toEqual([true, 0]);
    },
  );

  test('without bounds each function gets its own signal, which never aborts', async () => {
    const limiter = new Limiter({ concurrency: 1 });
    const signals = await Promise.all([
      limiter.run((_, { signal }) => signal),
      limiter.run((_, { signal }) => signal, { key: 'a' }),
      select({ one: (only) => limiter.run((_, { signal }) => signal, only) }).then(
        ({ value }) => value,
      ),
    ]);
    expect(new Set(signals).size).toBe(3);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });

  test('of a map bounds the work for each input', async () => {
    const limiter = new Limiter({ concurrency: 2 });
    const aborted: number[] = [];
    const results = limiter.map(
      [1, 2, 3],
      (n, { signal }) => {
        signal.onabort = () => aborted.push(n);
        return n === 2 ? never() : n;
      },
      { runTimeout: 10, errors: 'collect' },
    );
    const all = results.toArray().catch((error) => error.errors.map(({ name }: Error) => name));
    await pass(10);
    expect([await all, aborted]).toEqual([['TimeoutError'], [2]]);
  });
});

describe('maxKeys', () => {
  test('refuses new keys and does not affect existing keys', async () => {
    const limiter = new Limiter({
      perKey: { rate: { limit: 2, per: 100 } },
      maxKeys: 2,
      name: 'api',
    });
    for (const key of ['a', 'b']) await limiter.run(() => {}, { key });
    const refused = limiter.run(() => {}, { key: 'c' });
    await expect(refused).rejects.toThrow(QueueFullError);
    await expect(refused).rejects.toThrow('api: more keys than maxKeys: 2');
    await expect(limiter.acquire({ key: 'c' })).rejects.toThrow(QueueFullError);
    expect(() => limiter.tryAcquire({ key: 'c' })).toThrow(QueueFullError);
    expect(() => limiter.penalize(5, 'c')).toThrow(QueueFullError);
    expect([limiter.stats.dropped, limiter.keyCount]).toEqual([4, 2]);
    // A bad option is reported first, and is not counted.
    await expect(limiter.run(() => {}, { key: 'c', weight: 3 })).rejects.toThrow(RangeError);
    expect(limiter.stats.dropped).toBe(4);
    for (const key of ['a', 'b', undefined]) await limiter.run(() => {}, { key });
    limiter.penalize(50, 'a');
    await pass(99);
    await expect(limiter.acquire({ key: 'c' })).rejects.toThrow(QueueFullError);
    await pass(1);
    (await limiter.acquire({ key: 'c' })).release();
    expect(limiter.keyCount).toBe(1);
  });

  test('a key whose windows have passed makes space for another before the timer fires', async () => {
    let now = 0;
    const clock = { now: () => now, setTimeout: () => {}, clearTimeout: () => {} };
    const limiter = new Limiter({ perKey: { rate: { limit: 1, per: 10 } }, maxKeys: 1, clock });
    expect(limiter.tryAcquire({ key: 'a' })?.release()).toBeUndefined();
    await flush();
    now = 10;
    await limiter.run(() => {}, { key: 'b' });
    expect(limiter.keyCount).toBe(1);
  });
});

describe('bad input', () => {
  test.each<[unknown, RegExp]>([
    [undefined, /options must be an object, got undefined/],
    [{}, /options must have at least one of concurrency, rate and perKey/],
    [{ concurrency: 0 }, /concurrency must be an integer >= 1 or Infinity, got 0/],
    [{ rate: { limit: 0, per: 1 } }, /rate.limit must be an integer >= 1/],
    [
      { rate: { limit: 1, per: 0 } },
      /rate.per must be a finite number of milliseconds above 0, got 0/,
    ],
    [{ rate: { limit: 1, per: 1, burst: 0.5 } }, /rate.burst must be an integer >= 1/],
    [{ rate: { limit: 1, per: 1, name: 1 } }, /rate.name must be a string, got 1/],
    [{ rate: [{ limit: 1, interval: 1 }] }, /rate has "interval", expected only/],
    [{ rate: 5 }, /rate must be an object, got 5/],
    [{ perKey: { rates: [] } }, /perKey has "rates"/],
    [
      { concurrency: 1, whenFull: 'drop' },
      /whenFull must be one of reject, drop-oldest, got "drop"/,
    ],
    [{ concurrency: 1, whenFull: 'wait' }, /whenFull must be one of reject, drop-oldest/],
    [{ concurrency: 1, maxKeys: 0 }, /maxKeys must be an integer >= 1 or Infinity, got 0/],
    [{ rate: [] }, /rate must not be an empty array/],
    [{ perKey: { rate: [] } }, /rate must not be an empty array/],
    [
      { rate: [1, 2].map((limit) => ({ limit, per: 1 })) },
      /rate.name must be none of concurrency, rate, got "rate"/,
    ],
    [
      { perKey: { rate: [1, 2].map((limit) => ({ limit, per: 1, name: 'a' })) } },
      /rate.name must be none of concurrency, a, got "a"/,
    ],
    [
      { concurrency: 1, rate: { limit: 1, per: 1, name: 'concurrency' } },
      /rate.name must be none of concurrency, got "concurrency"/,
    ],
    [{ concurrency: 1, clock: { now: 1 } }, /clock.now must be a function, got 1/],
    [{ concurrency: 1, clock: null }, /clock.now must be a function/],
    [{ concurrency: 1, limit: 1 }, /options has "limit"/],
  ])('of the constructor: %o', (options, message) => {
    expect(() => new Limiter(options as never)).toThrow(message);
  });

  test.each<[object, RegExp]>([
    [{ weight: 0 }, /api: weight must be an integer from 1 to 2, got 0/],
    [{ weight: 3 }, /api: weight must be an integer from 1 to 2, got 3/],
    [{ weight: '1' }, /weight must be an integer/],
    [{ weight: null }, /weight must be an object, got null/],
    [{ weight: { tokens: 6 } }, /weight.tokens must be an integer from 0 to 5, got 6/],
    [{ weight: { tokens: -1 } }, /weight.tokens must be an integer from 0 to 5/],
    [{ weight: { token: 1 } }, /weight has "token", expected only concurrency, tokens/],
    [{ priority: '1' }, /priority must be a finite number/],
    [{ permits: 1 }, /options has "permits"/],
  ])('of a request: %o', async (options, message) => {
    const limiter = new Limiter({
      concurrency: 2,
      perKey: { rate: { limit: 5, per: 10, name: 'tokens' } },
      name: 'api',
    });
    await expect(limiter.acquire(options)).rejects.toThrow(message);
    await expect(limiter.run(() => {}, options)).rejects.toThrow(message);
    expect(() => limiter.tryAcquire(options)).toThrow(message);
    expect(limiter.stats.started).toBe(0);
  });

  test('of the other methods', async () => {
    const limiter = new Limiter({ concurrency: 1 });
    expect(() => limiter.penalize(-1)).toThrow(RangeError);
    expect(() => limiter.penalize(Number.POSITIVE_INFINITY)).toThrow(RangeError);
    expect(() => limiter.setLimits({ concurrency: 2, rate: { limit: 1 } as never })).toThrow(
      /rate.per/,
    );
    expect(() => limiter.setLimits({ concurrency: 2, rate: null as never })).toThrow(
      'rate must be an object, got null',
    );
    expect(limiter.concurrency).toBe(1);
    expect(() => limiter.setLimits(null as never)).toThrow(/limits must be an object/);
    await expect(limiter.run('fn' as never)).rejects.toThrow('fn must be a function, got "fn"');
    await expect(limiter.waitForSpace({ timeout: -1 })).rejects.toThrow(/timeout must be a number/);
    await expect(limiter.run(() => {}, { runTimeout: -1 })).rejects.toThrow(
      'runTimeout must be a number of milliseconds >= 0, got -1',
    );
    await expect(limiter.acquire({ runTimeout: 1 } as never)).rejects.toThrow(
      /options has "runTimeout"/,
    );
    const permit: Permit | undefined = limiter.tryAcquire();
    permit?.release();
    permit?.release();
    expect(limiter.running).toBe(0);
    limiter.setLimits({ rate: { limit: 1, per: 10 } });
    (limiter.rate[0] as { limit: number }).limit = 100;
    expect(limiter.rate[0]?.limit).toBe(1);
  });
});

test('a rate alone starts no request that a pause, a penalty, the rate of keys or the end forbids', () => {
  const rate = { limit: 10, per: 60_000 };
  const limiter = new Limiter({ rate });
  expect(limiter.tryAcquire()?.released).toBe(false);
  limiter.pause();
  let started = 0;
  limiter.run(() => started++).catch(() => {});
  expect([started, limiter.waiting]).toEqual([0, 1]);
  limiter.cancel();
  limiter.resume();
  void limiter.run(() => started++);
  expect(started).toBe(1);
  limiter.setLimits({ perKey: { rate: { limit: 1, per: 60_000 } } });
  limiter.run(() => started++).catch(() => {});
  expect([started, limiter.waiting]).toEqual([1, 1]);
  limiter.close();

  const penalized = new Limiter({ rate });
  penalized.penalize(60_000);
  penalized.run(() => started++).catch(() => {});
  expect([started, penalized.waiting]).toEqual([1, 1]);
  penalized.close();
  penalized.run(() => started++).catch(() => {});
  expect(started).toBe(1);
});
