/** What only Node can check: the async context, memory, listeners, and a real clock. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Limiter } from '../index.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

test('a function runs in the async context of its caller, not of the one that released', async () => {
  const storage = new AsyncLocalStorage<number>();
  const limiter = new Limiter({ concurrency: 1, rate: { limit: 1_000, per: 1 } });
  const permit = await limiter.acquire();
  const seen: unknown[] = [];
  const see = () => void seen.push(storage.getStore());
  const all = [1, 2, 3].map((n) =>
    storage.run(n, async () => {
      if (n === 1) await limiter.run(see);
      if (n === 2) await limiter.run(see, { timeout: 60_000 });
      if (n === 3) {
        using _permit = await limiter.acquire({ key: 'a' });
        see();
      }
    }),
  );
  storage.run(99, () => permit.release());
  await Promise.all(all);
  expect(seen.sort()).toEqual([1, 2, 3]);
});

test('the functions of a map run in the async context of its reader', async () => {
  const storage = new AsyncLocalStorage<number>();
  const limiter = new Limiter({ concurrency: 1 });
  const permit = await limiter.acquire();
  const see = () => storage.getStore();
  const all = storage.run(1, () => limiter.map([1, 2, 3], see).toArray());
  const other = storage.run(2, () => limiter.run(see));
  storage.run(99, () => permit.release());
  expect(await all).toEqual([1, 1, 1]);
  expect(await other).toBe(2);
});

test('many keys leave nothing behind', { timeout: 60_000 }, async () => {
  let now = 0;
  const timers = new Set<unknown>();
  const limiter = new Limiter({
    perKey: { concurrency: 1, rate: { limit: 2, per: 10 } },
    clock: {
      now: () => now,
      setTimeout: (callback) => {
        const timer = { callback };
        timers.add(timer);
        return timer;
      },
      clearTimeout: (timer) => timers.delete(timer),
    },
  });
  const round = async (from: number, count: number) => {
    for (let key = from; key < from + count; key++) {
      const permit = limiter.tryAcquire({ key });
      permit?.release();
      if (key % 1_000 === 0) await null;
    }
    await null;
    now += 10;
    for (const timer of [...timers] as { callback: () => void }[]) {
      timers.delete(timer);
      timer.callback();
    }
  };
  await round(0, 50_000);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let from = 0; from < 250_000; from += 10_000) await round(from, 10_000);
  expect([limiter.keyCount, timers.size, limiter.running]).toEqual([0, 0, 0]);
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2_000_000);
  expect(limiter.stats.finished).toBe(300_000);
});

test('a signal has no listener left, however the wait ended', async () => {
  const timeouts = () =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timeouts();
  const limiter = new Limiter({ concurrency: 1 });
  const { signal } = new AbortController();
  const permit = await limiter.acquire({ signal });
  const all = [1, 2, 3].map((key) => limiter.run(() => {}, { signal, key, timeout: 60_000 }));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  permit.release();
  await Promise.all(all);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  expect(timeouts()).toBe(before);
});

test('no window contains more starts than the limit, by a clock that the functions read', async () => {
  const [limit, per] = [20, 25];
  const limiter = new Limiter({ concurrency: 7, rate: { limit, per } });
  const starts: number[] = [];
  const work = (n: number) => {
    starts.push(performance.now());
    // Some of them block the event loop.
    while (performance.now() - (starts.at(-1) as number) < (n % 5) * 0.1);
  };
  await Promise.all(
    Array.from({ length: 120 }, async (_, n) => {
      if (n % 3 > 0) return limiter.run(async () => work(n));
      using _permit = await limiter.acquire();
      work(n);
    }),
  );
  expect(starts).toHaveLength(120);
  const tooEarly = starts.slice(limit).filter((start, n) => start - (starts[n] as number) < per);
  expect(tooEarly).toEqual([]);
});
