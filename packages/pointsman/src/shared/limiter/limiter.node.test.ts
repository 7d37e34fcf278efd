/** A shared limiter on a real server: its decisions, its queue and what it gives back. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { soon, storeHandlers, useServer, watch } from '../../../tests/redis/scene.js';
import { ClosedError, SharedLimiter, type SharedLimiterOptions, TimeoutError } from '../index.js';

const scene = useServer();
const minute = 60_000;

/** A limiter of a process of its own. */
async function limiterOn(
  options: SharedLimiterOptions,
  settings: Parameters<typeof scene.store>[0] = {},
) {
  const limiter = new SharedLimiter(await scene.store(settings), 'api', options);
  onTestFinished(() => limiter.close());
  return limiter;
}

const settled = (promises: readonly Promise<unknown>[]) =>
  Promise.allSettled(promises).then(
    (all) => all.filter((each) => each.status === 'fulfilled').length,
  );

describe.each(storeHandlers)('%s', (handler) => {
  const at = { handler };

  test('several processes together start exactly the limit', async () => {
    const rate = { limit: 50, per: minute };
    const processes = await Promise.all([1, 2, 3].map(() => limiterOn({ rate }, at)));
    const tries = processes.flatMap((limiter) =>
      Array.from({ length: 40 }, () => limiter.tryAcquire()),
    );
    const permits = (await Promise.all(tries)).filter((permit) => permit !== undefined);
    expect(permits).toHaveLength(50);
    const checks = await Promise.all(processes.map((limiter) => limiter.check()));
    for (const check of checks) {
      expect(check).toMatchObject({ allowed: false, limit: 50, remaining: 0 });
      expect(check.retryAfter).toBeGreaterThan(minute - 20_000);
      expect(check.retryAfter).toBeLessThanOrEqual(minute);
    }
  });

  test('the keys of one turn can take a whole bucket', async () => {
    const rate = { limit: 7, per: minute };
    const limiter = await limiterOn({ rate: { ...rate, burst: 30 }, perKey: { rate } }, at);
    const checks = Array.from({ length: 40 }, (_, i) => limiter.check(`${i}`));
    const allowed = (await Promise.all(checks)).filter((check) => check.allowed);
    expect(allowed).toHaveLength(30);
    expect(allowed.at(-1)?.remaining).toBe(0);
  });

  test('a request that waits starts at its moment, in order', async () => {
    const limiter = await limiterOn({ rate: { limit: 2, per: 200 } }, at);
    const order: number[] = [];
    const begun = performance.now();
    await Promise.all(
      [0, 1, 2, 3, 4].map((n) => limiter.run(() => order.push(n)).then(() => performance.now())),
    );
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(399);
    expect(limiter.stats).toMatchObject({ started: 5, finished: 5, undecided: 0 });
    expect(limiter.idle).toBe(true);
  });

  test('weights, several rates and keys count together', async () => {
    const limiter = await limiterOn(
      {
        rate: [
          { limit: 10, per: minute },
          { limit: 1_000, per: minute, name: 'tokens' },
        ],
        perKey: { rate: { limit: 3, per: minute } },
      },
      at,
    );
    for (let i = 0; i < 3; i++) {
      expect(await limiter.tryAcquire({ key: 'a', weight: { tokens: 100 } })).toBeDefined();
    }
    expect(await limiter.tryAcquire({ key: 'a', weight: { tokens: 1 } })).toBeUndefined();
    expect(await limiter.tryAcquire({ key: 'b', weight: { tokens: 701 } })).toBeUndefined();
    expect(await limiter.tryAcquire({ key: 'b', weight: { tokens: 700 } })).toBeDefined();
    expect(await limiter.check('c', { weight: { tokens: 0 } })).toMatchObject({ allowed: true });
    expect(await limiter.check('c', { weight: { tokens: 1 } })).toMatchObject({
      allowed: false,
      limit: 1_000,
      remaining: 0,
    });
    await expect(limiter.acquire({ weight: { tokens: 1_001 } })).rejects.toThrow(RangeError);
    await expect(limiter.acquire({ weight: { token: 1 } })).rejects.toThrow(TypeError);
  });
});

test('a refusal uses up nothing, and weight 0 only looks', async () => {
  const limiter = await limiterOn({ rate: { limit: 5, per: minute } });
  expect(await limiter.check(undefined, { weight: 4 })).toMatchObject({ remaining: 1 });
  for (let i = 0; i < 3; i++) {
    expect(await limiter.check(undefined, { weight: 2 })).toMatchObject({ allowed: false });
    expect(await limiter.tryAcquire({ weight: 5 })).toBeUndefined();
    await expect(limiter.acquire({ weight: 2, timeout: 0 })).rejects.toThrow('timed out');
    expect(await limiter.check(undefined, { weight: 0 })).toMatchObject({
      allowed: true,
      remaining: 1,
    });
  }
  expect(await limiter.check()).toMatchObject({ allowed: true, remaining: 0, retryAfter: 0 });
  expect(await limiter.check(undefined, { weight: 0 })).toMatchObject({ allowed: false });
});

describe('giving up', () => {
  test('a request whose timeout is too short rejects at once', async () => {
    const limiter = await limiterOn({ rate: { limit: 1, per: minute } });
    await limiter.acquire();
    const begun = performance.now();
    await expect(limiter.acquire({ timeout: 20_000 })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(limiter.waiting).toBe(0);
  });

  test('an abort gives the moment back, and the next request has it', async () => {
    const per = 3_000;
    const limiter = await limiterOn({ rate: { limit: 1, per } });
    await limiter.acquire();
    const controller = new AbortController();
    const given = watch(limiter.acquire({ signal: controller.signal }));
    await vi.waitUntil(async () => !(await limiter.check(undefined, { weight: 0 })).allowed, soon);
    await vi.waitUntil(
      async () => (await limiter.check(undefined, { weight: 0 })).retryAfter > per,
      soon,
    );
    controller.abort('enough');
    await expect(given.promise).rejects.toBe('enough');
    await vi.waitUntil(
      async () => (await limiter.check(undefined, { weight: 0 })).retryAfter <= per,
      soon,
    );
    expect(limiter.stats.cancelled).toBe(1);
    const permit = await limiter.acquire();
    expect(permit.released).toBe(false);
  });

  test('an abort before the store has answered gives back what it grants', async () => {
    const limiter = await limiterOn({ rate: { limit: 1, per: minute } });
    const controller = new AbortController();
    const given = limiter.acquire({ signal: controller.signal });
    await Promise.resolve();
    await Promise.resolve();
    controller.abort('enough');
    await expect(given).rejects.toBe('enough');
    await vi.waitUntil(async () => (await limiter.check(undefined, { weight: 0 })).allowed, soon);
  });
});

test('keys take turns', async () => {
  const limiter = await limiterOn({ rate: { limit: 1, per: 150 } });
  const order: string[] = [];
  const run = (key: string) => limiter.run(() => order.push(key), { key });
  await run('first');
  const runs = ['a', 'a', 'a', 'a', 'b'].map(run);
  await Promise.all(runs);
  expect(order.indexOf('b')).toBeLessThan(4);
});

test('a penalty holds all processes back, also a request that has its moment', async () => {
  const rate = { limit: 2, per: 2_000 };
  const [one, other] = [await limiterOn({ rate }), await limiterOn({ rate })];
  await one.acquire({ weight: 2 });
  const waiting = watch(one.acquire());
  await vi.waitUntil(async () => (await other.check()).retryAfter > 0, soon);
  const begun = performance.now();
  await one.penalize(4_000);
  expect((await other.check()).retryAfter).toBeGreaterThan(2_000);
  expect(await other.tryAcquire()).toBeUndefined();
  await waiting.promise;
  expect(performance.now() - begun).toBeGreaterThanOrEqual(3_999);
});

test('a penalty of a key leaves the others alone', async () => {
  const limiter = await limiterOn({ rate: { limit: 9, per: 300 } });
  await limiter.penalize(minute, 'a');
  expect(await limiter.tryAcquire({ key: 'a' })).toBeUndefined();
  expect(await limiter.tryAcquire({ key: 'b' })).toBeDefined();
});

test('a penalty of any length holds, and fails nothing else of its batch', async () => {
  const limiter = await limiterOn({ rate: { limit: 9, per: 300 } });
  const [, , other] = await Promise.all([
    limiter.penalize(1e19, 'a'),
    limiter.penalize(Number.MAX_VALUE, 'b'),
    limiter.tryAcquire({ key: 'c' }),
  ]);
  expect(other).toBeDefined();
  expect(await limiter.tryAcquire({ key: 'a' })).toBeUndefined();
  expect(await limiter.tryAcquire({ key: 'b' })).toBeUndefined();
});

test.each([undefined, 'a'])('a penalty ends the lease of its process: key %s', async (key) => {
  const limiter = await limiterOn({ perKey: { rate: { limit: 10_000, per: minute } }, lease: 50 });
  await Promise.all([1, 2, 3].map(() => limiter.acquire({ key: 'a' })));
  await limiter.penalize(minute, key);
  expect(await limiter.tryAcquire({ key: 'a' })).toBeUndefined();
  await expect(limiter.acquire({ key: 'a', timeout: 1 })).rejects.toThrow(TimeoutError);
});

test('a penalty of another process ends a lease at the latest when it ends anyway', async () => {
  const options = { rate: { limit: 1_000, per: 20_000 }, lease: 500 };
  const [leased, other] = [await limiterOn(options), await limiterOn(options)];
  await leased.acquire();
  await other.penalize(minute);
  await vi.waitUntil(async () => (await leased.tryAcquire()) === undefined, soon);
  expect(await leased.check()).toMatchObject({ allowed: false });
});

test('a lease that was asked for before the limits changed lasts no longer than asked', async () => {
  const limiter = await limiterOn({ rate: { limit: 1_000, per: 2_000 }, lease: 50 });
  for (let i = 0; i < 2; i++) await limiter.acquire();
  const { batches } = limiter.stats;
  const asked = limiter.acquire();
  while (limiter.stats.batches === batches) await Promise.resolve();
  limiter.setLimits({ rate: { limit: 10_000, per: minute } });
  await asked;
  // Longer than 1/128 of the first window.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const before = limiter.stats.batches;
  await limiter.acquire();
  expect(limiter.stats.batches).toBeGreaterThan(before);
});

test('a lease that was asked for before a concurrency was set admits no request past it', async () => {
  const limiter = await limiterOn({ rate: { limit: 10_000, per: minute }, lease: 50 });
  for (let i = 0; i < 2; i++) await limiter.acquire();
  const { batches } = limiter.stats;
  const asked = limiter.acquire();
  while (limiter.stats.batches === batches) await Promise.resolve();
  limiter.setLimits({ concurrency: 1 });
  await asked;
  await limiter.acquire();
  await expect(limiter.acquire({ timeout: 50 })).rejects.toThrow(TimeoutError);
});

test('changed limits end the lease of the process', async () => {
  const limiter = await limiterOn({ rate: { limit: 10_000, per: minute }, lease: 50 });
  await Promise.all([1, 2, 3].map(() => limiter.acquire()));
  limiter.setLimits({ rate: { limit: 2, per: minute } });
  const tries = await Promise.all([1, 2, 3, 4].map(() => limiter.tryAcquire()));
  expect(tries.filter(Boolean).length).toBeLessThanOrEqual(1);
});

test('settle gives back what was reserved too much, and counts what was too little', async () => {
  const rate = { limit: 1_000, per: minute, name: 'tokens' };
  const limiter = await limiterOn({ rate });
  const look = async () => (await limiter.check(undefined, { weight: 0 })).remaining;
  const first = await limiter.reserve({ tokens: 600 });
  first.settle({ tokens: 100 });
  expect(await look()).toBe(900);
  first.settle({ tokens: 300 });
  expect(await look()).toBe(700);
  const second = await limiter.reserve({ tokens: 700 });
  second.settle({ tokens: 1_500 });
  expect(await look()).toBe(0);
  expect(() => second.settle({ tokens: -1 })).toThrow(RangeError);
  expect(() => second.settle({ token: 1 })).toThrow(TypeError);
});

test('changed limits know the earlier starts', async () => {
  const limiter = await limiterOn({ rate: { limit: 2, per: minute } });
  await limiter.acquire({ weight: 2 });
  const waiting = limiter.acquire();
  const far = async () => (await limiter.check(undefined, { weight: 2 })).retryAfter > minute;
  await vi.waitUntil(far, soon);
  limiter.setLimits({ rate: { limit: 5, per: minute } });
  // The request that had its moment gets another one.
  await waiting;
  expect(limiter.rate).toMatchObject([{ limit: 5, per: minute }]);
  expect(await limiter.check(undefined, { weight: 0 })).toMatchObject({ limit: 5, remaining: 2 });
  limiter.setLimits({ rate: { limit: 3, per: minute } });
  expect((await limiter.check()).allowed).toBe(false);
  expect(() => limiter.setLimits({ rate: { limit: 0, per: 1 } })).toThrow(RangeError);
});

describe('a lease', () => {
  test('serves requests without a trip, gives the rest back, and never exceeds the limit', async () => {
    const rate = { limit: 1_000, per: minute };
    const [one, other] = [await limiterOn({ rate, lease: 100 }), await limiterOn({ rate })];
    for (let i = 0; i < 150; i++) await one.acquire();
    expect(one.stats).toMatchObject({ started: 150 });
    expect(one.stats.batches).toBeLessThan(20);
    // What is left of the lease comes back.
    await vi.waitUntil(
      async () => (await other.check(undefined, { weight: 0 })).remaining === 850,
      soon,
    );
    const tries = [one, other].map((limiter) =>
      settled(Array.from({ length: 700 }, () => limiter.acquire({ timeout: 2_000 }))),
    );
    const [a = 0, b = 0] = await Promise.all(tries);
    expect(a + b).toBeLessThanOrEqual(850);
    expect(a + b).toBeGreaterThanOrEqual(700);
  });

  test('is not taken for keys with few requests', async () => {
    const perKey = { rate: { limit: 1_000, per: minute } };
    const [one, other] = [await limiterOn({ perKey, lease: 100 }), await limiterOn({ perKey })];
    const keys = Array.from({ length: 20 }, (_, i) => `user ${i}`);
    for (const key of [...keys, ...keys]) await one.acquire({ key });
    for (const key of keys) {
      expect((await other.check(key, { weight: 0 })).remaining).toBe(998);
    }
    expect(one.stats.batches).toBe(40);
  });
});

test.each([
  ['', { rate: { limit: 1, per: 2_000 } }],
  [' with a lease', { rate: { limit: 4, per: 2_000, burst: 4 }, lease: 4 }],
])(
  'a request keeps its start time when a store that forgot it starts a later one at once%s',
  async (_, options) => {
    const limiter = await limiterOn(options);
    const { limit, per } = options.rate;
    await Promise.all(Array.from({ length: limit }, () => limiter.acquire()));
    const before = (await limiter.check()).retryAfter;
    const timed = limiter.acquire().then(() => performance.now());
    const due = await vi.waitFor(async () => {
      const now = performance.now();
      const { retryAfter } = await limiter.check();
      expect(retryAfter).toBeGreaterThan(before);
      return now + retryAfter - per / limit;
    }, soon);
    await scene.server.command('FLUSHALL');
    // Sent shortly before the start time of the other request, and granted at once.
    await limiter.acquire();
    expect(await timed).toBeGreaterThanOrEqual(due);
  },
);

describe('ending', () => {
  test('close rejects what waits, gives its moments back, and refuses', async () => {
    const rate = { limit: 1, per: minute };
    const [one, other] = [await limiterOn({ rate }), await limiterOn({ rate })];
    await one.acquire();
    const waiting = watch(one.acquire());
    await vi.waitUntil(async () => (await other.check()).retryAfter > minute, soon);
    await one.close();
    await expect(waiting.promise).rejects.toThrow(ClosedError);
    await expect(one.acquire()).rejects.toThrow(ClosedError);
    expect((await other.check()).retryAfter).toBeLessThanOrEqual(minute);
  });

  test('shutdown serves what waits', async () => {
    const limiter = await limiterOn({ rate: { limit: 1, per: 100 } });
    const runs = [1, 2, 3].map((n) => limiter.run(async () => n));
    const ended = limiter.shutdown();
    await expect(limiter.acquire()).rejects.toThrow(ClosedError);
    await ended;
    expect(await Promise.all(runs)).toEqual([1, 2, 3]);
    expect(limiter.closed).toBe(true);
  });

  test('drain says what is left', async () => {
    const limiter = await limiterOn({ rate: { limit: 1, per: minute } });
    const permit = await limiter.acquire();
    await expect(limiter.drain({ timeout: 1 })).rejects.toThrow('1 active, 0 waiting');
    permit.release();
    permit.release();
    await limiter.drain();
  });

  test('close rejects a penalty that the store has not acknowledged', async () => {
    const limiter = await limiterOn({ rate: { limit: 1, per: minute } });
    const penalty = watch(limiter.penalize(minute));
    await limiter.close(new Error('over'));
    await expect(penalty.promise).rejects.toThrow('over');
  });

  test('closing the store closes the limiter', async () => {
    const store = await scene.store();
    const limiter = new SharedLimiter(store, 'api', { rate: { limit: 1, per: minute } });
    await limiter.acquire();
    const waiting = watch(limiter.acquire());
    await store.close();
    await expect(waiting.promise).rejects.toThrow(ClosedError);
  });
});

test('bad input is refused before anything is sent', async () => {
  const store = await scene.store();
  const rate = { limit: 1, per: 1 };
  expect(() => new SharedLimiter({} as never, 'a', { rate })).toThrow(TypeError);
  expect(() => new SharedLimiter(store, '', { rate })).toThrow(TypeError);
  expect(() => new SharedLimiter(store, 'a', {})).toThrow(TypeError);
  for (const bad of [
    { lease: 0 },
    { deadline: 0 },
    { maxWaiting: 0 },
    { whenUnavailable: 'never' },
    { concurrency: 0 },
    { concurrency: 1e12 },
    { other: 1 },
    { rate: { limit: 1e12, per: 1 } },
    { rate: { limit: 1, per: 1e12 } },
  ]) {
    expect(() => new SharedLimiter(store, 'a', { rate, ...bad } as never)).toThrow();
  }
  const limiter = await limiterOn({ rate });
  await expect(limiter.acquire({ key: 1 } as never)).rejects.toThrow(TypeError);
  await expect(limiter.acquire({ priority: 1 } as never)).rejects.toThrow(TypeError);
  for (const bad of [null, { weight: null }]) {
    await expect(limiter.acquire(bad as never)).rejects.toThrow(/must be/);
    await expect(limiter.tryAcquire(bad as never)).rejects.toThrow(/must be/);
  }
  await expect(limiter.reserve(undefined as never)).rejects.toThrow(/must be/);
  await expect(limiter.acquire({ weight: 2 })).rejects.toThrow(RangeError);
  await expect(limiter.acquire({ weight: 0 })).rejects.toThrow(RangeError);
  await expect(limiter.check('', {})).rejects.toThrow(TypeError);
  await expect(limiter.check('a', { weigth: 1 } as never)).rejects.toThrow(TypeError);
  await expect(limiter.penalize(-1)).rejects.toThrow(RangeError);
  const { acquire } = limiter;
  await expect(acquire()).rejects.toThrow('acquire must be called on its object');
  expect(await scene.keys()).toEqual([]);
});
