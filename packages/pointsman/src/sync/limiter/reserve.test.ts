/** Weights that are estimated at the start and corrected later. */
import { describe, expect, test } from 'vitest';
import { Limiter } from '../index.js';

/** A clock that the test moves. */
function clock() {
  let now = 0;
  let timers: { at: number; callback: () => void }[] = [];
  return {
    now: () => now,
    setTimeout(callback: () => void, ms: number) {
      const timer = { at: now + ms, callback };
      timers.push(timer);
      return timer;
    },
    clearTimeout(timer: unknown) {
      timers = timers.filter((each) => each !== timer);
    },
    pass(ms: number) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { callback } of due) callback();
    },
  };
}

const tokens = (n: number) => ({ weight: { tokens: n } });

describe.each([
  ['a window', { limit: 100, per: 1_000, name: 'tokens' }],
  ['a bucket', { limit: 100, per: 1_000, burst: 100, name: 'tokens' }],
] as const)('%s', (_, rate) => {
  test('what was reserved too much comes back at once, also to a request that waits', async () => {
    const time = clock();
    const limiter = new Limiter({ rate, clock: time });
    const reservation = await limiter.reserve({ tokens: 80 });
    const waiting = limiter.acquire(tokens(50));
    expect(limiter.waiting).toBe(1);
    reservation.settle({ tokens: 50 });
    await waiting;
    expect(limiter.tryAcquire(tokens(1))).toBeUndefined();
    reservation.settle({ tokens: 49 });
    expect(limiter.tryAcquire(tokens(1))).toBeDefined();
    reservation.release();
  });

  test('what was reserved too little counts from the correction on', async () => {
    const time = clock();
    const limiter = new Limiter({ rate, clock: time });
    const reservation = await limiter.reserve({ tokens: 60 });
    time.pass(500);
    reservation.settle({ tokens: 160 });
    expect(limiter.tryAcquire(tokens(1))).toBeUndefined();
    time.pass(100);
    expect(limiter.tryAcquire(tokens(1))).toBeUndefined();
    time.pass(1_000);
    expect(limiter.tryAcquire(tokens(90))).toBeDefined();
  });

  test('a correction after the window changes nothing', async () => {
    const time = clock();
    const limiter = new Limiter({ rate, clock: time });
    const reservation = await limiter.reserve({ tokens: 60 });
    time.pass(2_000);
    expect(limiter.tryAcquire(tokens(100))).toBeDefined();
    reservation.settle({ tokens: 0 });
    expect(limiter.tryAcquire(tokens(1))).toBeUndefined();
  });
});

test('bad input has no effect', async () => {
  const limiter = new Limiter({ rate: { limit: 10, per: 1_000 } });
  const reservation = await limiter.reserve(10, { key: 'a', timeout: 5 });
  expect(() => reservation.settle(-1)).toThrow(RangeError);
  expect(() => reservation.settle(0.5)).toThrow(RangeError);
  expect(() => reservation.settle({ other: 1 })).toThrow(TypeError);
  expect(limiter.tryAcquire()).toBeUndefined();
  await expect(limiter.reserve(11)).rejects.toThrow(RangeError);
  await expect(limiter.reserve(1, { weight: 1 } as never)).rejects.toThrow(TypeError);
  const { reserve } = limiter;
  await expect(reserve(1)).rejects.toThrow('reserve must be called on its object');
  const other = new Limiter({ concurrency: 1 });
  await expect(other.reserve(1)).rejects.toThrow('reserve needs a limiter with a rate');
  expect(other.running).toBe(0);
});
