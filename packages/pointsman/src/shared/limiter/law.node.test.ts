/** The law at the real starts of several processes, exact and with leases, while some give up. */
import { expect, onTestFinished, test } from 'vitest';
import { useServer } from '../../../tests/redis/scene.js';
import { SharedLimiter, type SharedLimiterOptions } from '../index.js';

const scene = useServer();

/** A start happened after `asked`, and before `started`, by one clock. */
interface Start {
  readonly asked: number;
  readonly started: number;
}

/**
 * Returns the highest number of starts that are certainly in one window. The store's moment of a start that was asked for
 * is known only to be between the two times.
 */
function most(starts: readonly Start[], per: number): number {
  let found = 0;
  for (const { asked: from } of starts) {
    let inside = 0;
    for (const { asked, started } of starts) {
      if (asked >= from && started < from + per) inside++;
    }
    found = Math.max(found, inside);
  }
  return found;
}

test.each([
  { name: 'exact', lease: 1 },
  { name: 'leased', lease: 10 },
])('$name: no window above the limit, and the windows are used again', async ({ lease }) => {
  const rate = { limit: 60, per: 1_000 };
  const options: SharedLimiterOptions = { rate, lease, deadline: 10_000 };
  const limiters = await Promise.all(
    [1, 2, 3].map(async () => new SharedLimiter(await scene.store(), 'api', options)),
  );
  onTestFinished(async () => {
    await Promise.all(limiters.map((limiter) => limiter.close()));
  });
  const starts: Start[] = [];
  const end = performance.now() + 3_500;
  const caller = async (limiter: SharedLimiter, c: number): Promise<void> => {
    while (performance.now() < end) {
      const asked = performance.now();
      const controller = new AbortController();
      if (c === 0) setTimeout(() => controller.abort(), 3);
      const options = { signal: controller.signal, key: `${c % 2}`, timeout: 2_000 };
      const permit = await limiter.acquire(options).catch(() => undefined);
      const started = performance.now();
      permit?.release();
      // A start of a lease needs no trip, so its moment is known.
      if (permit !== undefined) starts.push({ asked, started });
    }
  };
  await Promise.all(
    limiters.flatMap((limiter) => [0, 1, 2, 3, 4, 5].map((c) => caller(limiter, c))),
  );
  expect(most(starts, rate.per)).toBeLessThanOrEqual(rate.limit);
  // How much of the limit is used depends on the load of the machine; the simulation of `starts.node.test.ts` bounds it.
  expect(starts.length).toBeGreaterThan(rate.limit);
  expect(starts.length).toBeLessThanOrEqual(5 * rate.limit);
});

test('the processes of a lease that die leave nothing behind but the end of their lease', async () => {
  const rate = { limit: 10, per: 1_000 };
  const [dead, other] = (await Promise.all(
    [1, 2].map(async () => new SharedLimiter(await scene.store(), 'api', { rate, lease: 10 })),
  )) as [SharedLimiter, SharedLimiter];
  onTestFinished(async () => {
    await Promise.all([dead.close(), other.close()]);
  });
  await dead.acquire();
  // What it leased and never gives back is free a window later.
  const { retryAfter } = await other.check(undefined, { weight: 10 });
  expect(retryAfter).toBeLessThanOrEqual(1_000 + 1_000 / 128 + 1);
  await other.acquire({ weight: 10, timeout: 5_000 });
});
