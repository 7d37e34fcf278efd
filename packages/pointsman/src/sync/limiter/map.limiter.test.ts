/** `map` with a real limiter: concurrency, rates, weights and keys determine when inputs are pulled. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Limiter } from './limiter.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function* count(to: number) {
  for (let n = 0; n < to; n++) yield n;
}

async function* countLater(to: number) {
  for (const n of count(to)) {
    await null;
    yield n;
  }
}

test.each([
  ['an array', () => [...count(7)]],
  ['an iterable', () => count(7)],
  ['an async iterable', () => countLater(7)],
])('a rate spaces the starts, and the end of the inputs takes no turn: %s', async (_, inputs) => {
  const limiter = new Limiter({ rate: { limit: 2, per: 100 }, concurrency: 3 });
  const begin = Date.now();
  const starts: number[] = [];
  let end = Number.NaN;
  const all = limiter
    .map(inputs(), async (n) => {
      starts.push(Date.now() - begin);
      await sleep(10);
      return n;
    })
    .toArray()
    .finally(() => {
      end = Date.now() - begin;
    });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await all).toEqual([...count(7)]);
  expect(starts).toEqual([0, 0, 100, 100, 200, 200, 300]);
  expect(end).toBe(310);
  expect([limiter.running, limiter.waiting]).toEqual([0, 0]);
  limiter.close();
  await vi.runAllTimersAsync();
});

test('each input has its own weight and key', async () => {
  const limiter = new Limiter({ concurrency: 4, perKey: { concurrency: 2 } });
  const running = new Map<string, number>();
  let most = 0;
  const results = limiter.map(
    count(12),
    async (n) => {
      const key = `${n % 3}`;
      const weight = 1 + (n % 2);
      running.set(key, (running.get(key) ?? 0) + weight);
      expect(running.get(key)).toBeLessThanOrEqual(2);
      most = Math.max(most, limiter.running);
      await sleep(5);
      running.set(key, (running.get(key) as number) - weight);
      return n;
    },
    { key: (n) => `${n % 3}`, weight: (n) => 1 + (n % 2) },
  );
  const all = results.toArray();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await all).toEqual([...count(12)]);
  expect(most).toBeLessThanOrEqual(4);
  expect([limiter.running, limiter.waiting, limiter.keyCount]).toEqual([0, 0, 0]);
});

test('a weight may be a record, as elsewhere', async () => {
  const limiter = new Limiter({ concurrency: 2, rate: { name: 'tokens', limit: 4, per: 100 } });
  const begin = Date.now();
  const starts = limiter
    .map(['a', 'bbb', 'cc'], () => Date.now() - begin, { weight: (s) => ({ tokens: s.length }) })
    .toArray();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await starts).toEqual([0, 0, 100]);
});

test('other requests of the limiter take turns with the map', async () => {
  const limiter = new Limiter({ concurrency: 1 });
  const order: string[] = [];
  const all = limiter
    .map(count(3), async (n) => {
      order.push(`map ${n}`);
      await sleep(1);
    })
    .toArray();
  const other = (async () => {
    for (let n = 0; n < 3; n++) {
      await limiter.run(async () => {
        order.push(`run ${n}`);
        await sleep(1);
      });
    }
  })();
  await vi.advanceTimersByTimeAsync(100);
  await Promise.all([all, other]);
  // One input waits in the queue before the first other request.
  const users = order.map((each) => each.slice(0, 3));
  expect(users).toEqual(['map', 'map', 'run', 'map', 'run', 'run']);
  expect(limiter.idle).toBe(true);
});

test('a closed limiter ends the map', async () => {
  const limiter = new Limiter({ concurrency: 1 });
  limiter.close('over');
  await expect(limiter.map([1], () => 1).toArray()).rejects.toBe('over');
});

test('a source may use the same limiter, and so may a map of a map', async () => {
  const limiter = new Limiter({ concurrency: 1 });
  async function* pages() {
    for (let page = 0; page < 3; page++) yield await limiter.run(async () => page);
  }
  expect(await limiter.map(pages(), (page) => page * 2).toArray()).toEqual([0, 2, 4]);
  const inner = limiter.map([1, 2, 3], (n) => n + 1);
  expect(await limiter.map(inner, (n) => n * 10).toArray()).toEqual([20, 30, 40]);
  expect(limiter.idle).toBe(true);
});

test('a slow source holds no place, and its starts keep the rate', async () => {
  const limiter = new Limiter({ concurrency: 2, rate: { limit: 1, per: 100 } });
  const starts: number[] = [];
  async function* slow() {
    for (let n = 0; n < 3; n++) {
      await sleep(90);
      yield n;
    }
  }
  const all = limiter.map(slow(), () => starts.push(performance.now())).toArray();
  await vi.advanceTimersByTimeAsync(50);
  expect(limiter.running).toBe(0);
  await vi.advanceTimersByTimeAsync(1_000);
  await all;
  const gaps = starts.slice(1).map((at, n) => at - (starts[n] as number));
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(100);
});
