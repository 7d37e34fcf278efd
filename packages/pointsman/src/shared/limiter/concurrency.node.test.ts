/** The concurrency of a shared limiter, together with its rates. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { soon, storeHandlers, useServer, watch } from '../../../tests/redis/scene.js';
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

describe.each(storeHandlers)('%s', (handler) => {
  const at = { handler };
  const rate = { limit: 10, per: minute };

  test('a request takes its slot and its start in one trip', async () => {
    const limiter = await limiterOn({ concurrency: 2, rate: { limit: 1e6, per: minute } }, at);
    for (const start of [() => limiter.acquire(), () => limiter.tryAcquire()]) {
      // The first one begins the session, and a heartbeat is a batch too.
      await vi.waitUntil(async () => {
        const before = limiter.stats.batches;
        const permit = await start();
        const { batches } = limiter.stats;
        permit?.release();
        await limiter.check(undefined, { weight: 0 });
        return batches === before + 1;
      }, soon);
    }
  });

  test('a key that waits for its rate holds no concurrency', async () => {
    const perKey = { rate: { limit: 1, per: minute }, concurrency: 1 };
    const limiter = await limiterOn({ concurrency: 1, perKey }, at);
    (await limiter.acquire({ key: 'a' })).release();
    const waiting = watch(limiter.acquire({ key: 'a' }));
    for (const key of ['b', 'c']) (await limiter.acquire({ key })).release();
    expect(waiting.state).toBe('pending');
    expect(await limiter.tryAcquire({ key: 'a' })).toBeUndefined();
    await limiter.close('enough');
    await expect(waiting.promise).rejects.toBe('enough');
  });

  test('a check needs free concurrency, and takes none', async () => {
    const perKey = { rate, concurrency: 1 };
    const limiter = await limiterOn({ concurrency: 2, perKey }, at);
    const checks = await Promise.all([1, 2, 3, 4].map(() => limiter.check('a')));
    expect(checks.map(({ allowed }) => allowed)).toEqual([true, true, true, true]);
    const held = await limiter.acquire({ key: 'a' });
    expect(await limiter.check('a')).toMatchObject({
      allowed: false,
      limit: 10,
      remaining: 5,
      retryAfter: 1_000,
    });
    expect(await limiter.check('a', { weight: 0 })).toMatchObject({ allowed: false });
    expect(await limiter.check('b')).toMatchObject({ allowed: true, remaining: 9, retryAfter: 0 });
    const other = await limiter.acquire({ key: 'b' });
    expect(await limiter.check('c')).toMatchObject({ allowed: false, remaining: 10 });
    held.release();
    other.release();
    expect(await limiter.check('a')).toMatchObject({ allowed: true, remaining: 4 });
  });

  test('a limit that is raised serves the requests that wait', async () => {
    const limiter = await limiterOn({ concurrency: 1 }, at);
    const held = await limiter.acquire();
    const waiting = watch(limiter.acquire());
    expect(await limiter.tryAcquire()).toBeUndefined();
    limiter.setLimits({ concurrency: 2 });
    (await waiting.promise).release();
    held.release();
  });
});

test('more requests than may wait in the queue of the store at a time', async () => {
  const limiter = await limiterOn({ concurrency: 4, deadline: 20_000 });
  const order: number[] = [];
  const all = Array.from({ length: 300 }, (_, i) => limiter.run(() => order.push(i)));
  await Promise.all(all);
  expect(order).toEqual(order.map((_, i) => i));
  expect(limiter.idle).toBe(true);
});

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
  await expect(limiter.acquire({ timeout: 20 })).rejects.toMatchObject({
    name: 'TimeoutError',
    message: 'api: timed out after 20 ms',
  });
  await expect(limiter.acquire({ timeout: 0 })).rejects.toThrow('api: timed out after 0 ms');
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
  await vi.waitUntil(async () => {
    const { undecided } = limiter.stats;
    const permit = await limiter.tryAcquire().catch(() => {});
    permit?.release();
    return limiter.stats.undecided === undecided;
  }, soon);
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
