/** The concurrency of a shared limiter, together with its rates. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { short, soon, useServer, watch } from '../../../tests/redis/scene.js';
import { ClosedError, SharedLimiter, type SharedLimiterOptions, StoreError } from '../index.js';

const scene = useServer();
const minute = 60_000;

async function limiterOn(
  options: SharedLimiterOptions,
  settings: Parameters<typeof scene.store>[0] = {},
) {
  const limiter = new SharedLimiter(await scene.store(settings), 'api', options);
  onTestFinished(() => limiter.close());
  return limiter;
}

test.each(['script', 'pure'] as const)(
  '%s: all processes together run at most as many',
  async (handler) => {
    const options = { concurrency: 3, rate: { limit: 1_000, per: minute } };
    const processes = await Promise.all([1, 2, 3].map(() => limiterOn(options, { handler })));
    let running = 0;
    let most = 0;
    const run = (limiter: SharedLimiter) =>
      limiter.run(async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running--;
      });
    await Promise.all(
      processes.flatMap((limiter) => Array.from({ length: 10 }, () => run(limiter))),
    );
    expect(most).toBe(3);
    const [first] = processes as [SharedLimiter];
    expect((await first.check(undefined, { weight: 0 })).remaining).toBe(970);
    expect(first.idle).toBe(true);
  },
);

test('a key that is full holds no other back', async () => {
  const limiter = await limiterOn({ concurrency: 3, perKey: { concurrency: 1 } });
  const held = await limiter.acquire({ key: 'a' });
  const waiting = watch(limiter.acquire({ key: 'a' }));
  expect(await limiter.tryAcquire({ key: 'a' })).toBeUndefined();
  const other = await limiter.acquire({ key: 'b' });
  expect(waiting.state).toBe('pending');
  expect(limiter).toMatchObject({ waiting: 1, running: 2 });
  held.release();
  (await waiting.promise).release();
  other.release();
  await expect(limiter.check('a')).rejects.toThrow('check needs a limiter with a rate');
});

test('weights, and a request that the rates refuse frees its part', async () => {
  const limiter = await limiterOn({ concurrency: 4, rate: { limit: 2, per: minute } });
  const weight = { concurrency: 3 };
  const held = await limiter.acquire({ weight });
  expect(await limiter.tryAcquire({ weight: { concurrency: 2 } })).toBeUndefined();
  held.release();
  (await limiter.acquire({ weight: { concurrency: 4 } })).release();
  expect(await limiter.tryAcquire({ weight })).toBeUndefined();
  await expect(limiter.acquire({ weight, timeout: 10 })).rejects.toMatchObject({
    name: 'TimeoutError',
  });
  await expect(limiter.acquire({ weight: { concurrency: 5 } })).rejects.toThrow(RangeError);
  limiter.setLimits({ rate: { limit: 9, per: minute }, concurrency: 5 });
  await limiter.acquire({ weight: { concurrency: 5 }, timeout: 5_000 });
});

test('giving up, closing and draining', async () => {
  const limiter = await limiterOn({ concurrency: 1 });
  const held = await limiter.acquire();
  const controller = new AbortController();
  const aborted = watch(limiter.acquire({ signal: controller.signal }));
  await vi.waitUntil(() => limiter.waiting === 1, soon);
  controller.abort('enough');
  await expect(aborted.promise).rejects.toBe('enough');
  await expect(limiter.acquire({ timeout: 20 })).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(limiter.waiting).toBe(0);
  const drained = limiter.drain();
  held.release();
  await drained;
  const last = await limiter.acquire();
  const waiting = watch(limiter.acquire());
  await limiter.close();
  await expect(waiting.promise).rejects.toThrow(ClosedError);
  last.release();
});

test.each([
  ['refuse', 0],
  ['allow', 5],
  ['share', 4],
] as const)('without a store: %s', async (whenUnavailable, admitted) => {
  const proxy = await scene.proxy();
  const options = { concurrency: 4, deadline: 200, whenUnavailable };
  const limiter = await limiterOn(options, { port: proxy.port });
  await vi.waitUntil(
    () =>
      limiter.acquire().then(
        (permit) => permit.release() === undefined && limiter.stats.undecided === 0,
        () => false,
      ),
    soon,
  );
  proxy.holdReplies();
  const tries = await Promise.allSettled(
    Array.from({ length: 5 }, () => limiter.acquire({ timeout: 2_000 })),
  );
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(admitted);
  if (whenUnavailable === 'refuse') await expect(limiter.acquire()).rejects.toThrow(StoreError);
  proxy.letGo();
});

test('a limit of waiting requests counts those that wait for concurrency', async () => {
  const limiter = await limiterOn({ concurrency: 1, maxWaiting: 1 });
  const held = await limiter.acquire();
  const waiting = limiter.acquire();
  await expect(limiter.acquire()).rejects.toMatchObject({ name: 'QueueFullError' });
  expect(limiter.stats.dropped).toBe(1);
  held.release();
  (await waiting).release();
});

test('a process that was cut off while a request waited for its start takes the concurrency again', async () => {
  const proxy = await scene.proxy();
  // Closing must not wait as long for what was given back over the lost connection.
  const options = { concurrency: 1, rate: { limit: 1, per: 1_000 }, deadline: 200_000 };
  const cut = await limiterOn(options, { port: proxy.port, ttl: short });
  const observer = await limiterOn(options);
  const next = async () => (await observer.check(undefined, { weight: 0 })).retryAfter;
  (await cut.acquire()).release();
  const waiting = watch(cut.acquire());
  await vi.waitUntil(async () => (await next()) > 1_000, soon);
  // The reply before this one has the time of the start.
  await cut.check(undefined, { weight: 0 });
  proxy.blackhole(true);
  const other = await limiterOn({ concurrency: 1, deadline: 10_000 });
  const held = await other.acquire();
  // That time has passed.
  await vi.waitUntil(async () => (await next()) < 900, soon);
  expect(waiting.state).toBe('pending');
  expect(cut).toMatchObject({ waiting: 1, running: 0, stats: { started: 1, finished: 1 } });
  held.release();
  proxy.blackhole(false);
  proxy.cut();
  (await waiting.promise).release();
});
