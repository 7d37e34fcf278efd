/** A shared limiter while its server is slow, away, full or has forgotten its script. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { soon, useServer, watch } from '../../../tests/redis/scene.js';
import { SharedLimiter, type SharedLimiterOptions, StoreError } from '../index.js';

const scene = useServer();
const minute = 60_000;
const rate = { limit: 100, per: minute };

async function limiterOn(
  options: SharedLimiterOptions,
  settings: Parameters<typeof scene.store>[0] = {},
) {
  const limiter = new SharedLimiter(await scene.store(settings), 'api', options);
  onTestFinished(() => limiter.close());
  return limiter;
}

/** A limiter whose connection can be disturbed, after its first decision. */
async function disturbed(options: Partial<SharedLimiterOptions>) {
  const proxy = await scene.proxy();
  const limiter = await limiterOn({ rate, deadline: 150, ...options }, { port: proxy.port });
  // A busy machine may take longer than the deadline for the first connection.
  await vi.waitUntil(async () => {
    const { undecided } = limiter.stats;
    await limiter.check(undefined, { weight: 0 }).catch(() => {});
    return limiter.stats.undecided === undecided;
  }, soon);
  return { proxy, limiter };
}

describe.each(['ioredis', 'node-redis'] as const)('%s', (library) => {
  test('a script that the server has forgotten is loaded again', async () => {
    const limiter = await limiterOn({ rate, deadline: 10_000 }, { library });
    await limiter.acquire();
    for (let i = 0; i < 3; i++) {
      await scene.server.command('SCRIPT', 'FLUSH');
      await Promise.all([limiter.acquire(), limiter.check()]);
    }
    // A resent start may count twice, but never less than once.
    const { remaining } = await limiter.check(undefined, { weight: 0 });
    expect(remaining).toBeLessThanOrEqual(100 - 7);
  });

  test('a request survives a connection that is lost before the answer', async () => {
    const proxy = await scene.proxy();
    const settings = { library, port: proxy.port };
    const limiter = await limiterOn({ rate, deadline: 10_000 }, settings);
    await limiter.acquire();
    proxy.holdReplies();
    const waiting = [limiter.acquire(), limiter.acquire()];
    await vi.waitUntil(async () => limiter.stats.batches > 1, soon);
    proxy.cut();
    proxy.letGo();
    await Promise.all(waiting);
    const { remaining } = await limiter.check(undefined, { weight: 0 });
    expect(remaining).toBeLessThanOrEqual(97);
    expect(limiter.stats).toMatchObject({ started: 3, undecided: 0 });
  });
});

describe('without an answer, the deadline decides', () => {
  test('refuse: with an error that says so', async () => {
    const { proxy, limiter } = await disturbed({});
    proxy.holdReplies();
    for (const ask of [
      () => limiter.acquire(),
      () => limiter.tryAcquire(),
      () => limiter.check('k'),
      () => limiter.penalize(1),
    ]) {
      const begun = performance.now();
      await expect(ask()).rejects.toThrow(StoreError);
      expect(performance.now() - begun).toBeGreaterThanOrEqual(149);
    }
    await expect(limiter.acquire()).rejects.toThrow('has not decided within 150 ms');
    expect(limiter.waiting).toBe(0);
    proxy.letGo();
    // What was granted too late comes back.
    const before = limiter.stats.started;
    await vi.waitUntil(
      () =>
        limiter.check(undefined, { weight: 0 }).then(
          ({ remaining }) => remaining === 100 - before,
          () => false,
        ),
      soon,
    );
  });

  test('allow: the request starts', async () => {
    const { proxy, limiter } = await disturbed({ whenUnavailable: 'allow' });
    const before = limiter.stats.undecided;
    proxy.holdReplies();
    const permit = await limiter.acquire();
    permit.settle(3);
    permit.release();
    expect(await limiter.run(() => 'done')).toBe('done');
    expect(await limiter.tryAcquire()).toBeDefined();
    expect(await limiter.check()).toMatchObject({ allowed: true, remaining: 0 });
    expect(limiter.stats.undecided).toBe(before + 4);
    const { started } = limiter.stats;
    expect(await limiter.check(undefined, { weight: 0 })).toMatchObject({ allowed: true });
    expect(limiter.stats).toMatchObject({ started });
  });

  test('allow: a request whose earlier moment was given back gives nothing back again', async () => {
    const rate = { limit: 10, per: minute };
    // The store decides the first requests, also on a busy machine.
    const options = { whenUnavailable: 'allow', rate, deadline: 500 } as const;
    const { proxy, limiter } = await disturbed(options);
    const other = await limiterOn({ rate });
    const wait = async () => (await other.check(undefined, { weight: 0 })).retryAfter;
    await limiter.acquire({ weight: 10 });
    const request = limiter.acquire({ weight: 10 });
    await vi.waitUntil(async () => (await wait()) > minute, soon);
    proxy.holdReplies();
    // It asks for another moment.
    const penalty = watch(limiter.penalize(0));
    const permit = await request;
    proxy.letGo();
    await vi.waitUntil(async () => penalty.state !== 'pending' && (await wait()) <= minute, soon);
    // It has the same moment.
    watch(other.acquire({ weight: 10 }));
    await vi.waitUntil(async () => (await wait()) > minute, soon);
    permit.settle(0);
    await limiter.check(undefined, { weight: 0 });
    expect(await wait()).toBeGreaterThan(minute);
  });

  test('share: this process has its part of the limit', async () => {
    const proxy = await scene.proxy();
    const options = { rate: { limit: 10, per: minute }, whenUnavailable: 'share' } as const;
    const others = [await limiterOn(options), await limiterOn(options)];
    await Promise.all(others.map((limiter) => limiter.check(undefined, { weight: 0 })));
    const limiter = await limiterOn({ ...options, deadline: 150 }, { port: proxy.port });
    // Until the store has decided, and counted the process.
    await vi.waitUntil(async () => {
      const before = limiter.stats.undecided;
      await limiter.check(undefined, { weight: 0 });
      return limiter.stats.undecided === before;
    }, soon);
    proxy.holdReplies();
    // Three processes: a third of ten.
    const tries = await Promise.all(Array.from({ length: 8 }, () => limiter.tryAcquire()));
    const started = tries.filter((permit) => permit !== undefined).length;
    // A process that had to say twice that it is there counts twice.
    expect(started).toBeLessThanOrEqual(3);
    expect(started).toBeGreaterThanOrEqual(2);
    await expect(limiter.acquire({ timeout: 300 })).rejects.toMatchObject({ name: 'TimeoutError' });
    const controller = new AbortController();
    const waiting = watch(limiter.acquire({ signal: controller.signal }));
    controller.abort('enough');
    await expect(waiting.promise).rejects.toBe('enough');
  });

  test('share: a check of weight 0 uses up nothing', async () => {
    const { proxy, limiter } = await disturbed({
      rate: { limit: 1, per: minute },
      whenUnavailable: 'share',
    });
    proxy.holdReplies();
    for (let i = 0; i < 2; i++) {
      expect((await limiter.check(undefined, { weight: 0 })).allowed).toBe(true);
    }
    expect(await limiter.tryAcquire()).toBeDefined();
    expect((await limiter.check(undefined, { weight: 0 })).allowed).toBe(false);
  });

  test('share: settle gives back to the part of this process', async () => {
    const { proxy, limiter } = await disturbed({
      rate: { limit: 10, per: minute },
      whenUnavailable: 'share',
    });
    const part = async (weight: number) => (await limiter.tryAcquire({ weight })) !== undefined;
    proxy.holdReplies();
    // It uses the whole part.
    const permit = await limiter.reserve(10, { timeout: 1_000 });
    expect(await part(1)).toBe(false);
    permit.settle(20);
    expect(await part(1)).toBe(false);
    permit.settle({ rate: 0 });
    permit.release();
    expect(await part(10)).toBe(true);
    expect(await part(1)).toBe(false);
  });

  test('close rejects what has no answer', async () => {
    const { proxy, limiter } = await disturbed({ deadline: 10_000 });
    proxy.holdReplies();
    const asked = [limiter.check(), limiter.tryAcquire({ weight: 2 }), limiter.acquire()];
    const outcomes = Promise.allSettled([...asked, limiter.penalize(1)]);
    await Promise.resolve();
    proxy.cut();
    await limiter.close('enough');
    const [check, permit, request, penalty] = await outcomes;
    for (const each of [check, permit, request]) expect(each).toMatchObject({ reason: 'enough' });
    expect(penalty?.status).toBe('rejected');
  });

  test('requests behind those that the store does not decide do not wait longer', async () => {
    const { proxy, limiter } = await disturbed({});
    proxy.holdReplies();
    const many = Array.from({ length: 600 }, (_, i) => limiter.acquire({ key: `${i % 3}` }));
    const outcomes = await Promise.allSettled(many);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    expect(limiter.waiting).toBe(0);
  });

  test('a half-open connection is replaced', async () => {
    const { proxy, limiter } = await disturbed({ deadline: 300 });
    proxy.blackhole(true);
    const first = watch(limiter.acquire());
    await vi.waitUntil(() => first.state === 'rejected', soon);
    proxy.blackhole(false);
    await vi.waitUntil(() => limiter.acquire().then(Boolean, () => false), {
      ...soon,
      timeout: 10_000,
    });
  });
});

describe('a server', () => {
  const own = useServer({ args: ['--maxmemory', '3mb', '--maxmemory-policy', 'noeviction'] });

  test('that is full refuses, and the policy decides at once', async () => {
    const settings = { port: own.server.port };
    const refusing = await limiterOn({ rate, deadline: 10_000 }, settings);
    const allowing = await limiterOn(
      { rate, deadline: 10_000, whenUnavailable: 'allow' },
      settings,
    );
    await refusing.acquire();
    await own.server.command('CONFIG', 'SET', 'maxmemory', '1');
    onTestFinished(() => own.server.command('CONFIG', 'SET', 'maxmemory', '0').then(() => {}));
    await expect(refusing.acquire()).rejects.toThrow(/OOM/);
    await expect(refusing.check()).rejects.toThrow(StoreError);
    expect((await allowing.check()).allowed).toBe(true);
    await own.server.command('CONFIG', 'SET', 'maxmemory', '0');
    await refusing.acquire();
  });

  test('that dies: every request is decided', async () => {
    const limiter = await limiterOn({ rate, deadline: 200 }, { port: own.server.port });
    await vi.waitUntil(() => limiter.acquire().then(Boolean, () => false), soon);
    await own.server.stop();
    const outcomes = await Promise.allSettled([
      limiter.acquire(),
      limiter.check(),
      limiter.run(() => {}),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});

test('a record that another client has damaged is refused', async () => {
  const limiter = await limiterOn({ rate });
  await scene.server.command('SET', `{${scene.namespace}}:limit:3:api`, 'x');
  await expect(limiter.acquire()).rejects.toThrow(StoreError);
});
