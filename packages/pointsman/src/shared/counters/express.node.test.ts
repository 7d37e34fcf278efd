/** express-rate-limit itself, with counts in a store. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { MemoryStore, type Options, rateLimit } from 'express-rate-limit';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { soon, storeHandlers, useServer } from '../../../tests/redis/scene.js';
import { expressRateLimitStore, SharedMutex, StoreError } from '../index.js';

const scene = useServer();
const minute = 60_000;

/** The store of a limiter, on connections of its own. */
async function storeOf(handler: (typeof storeHandlers)[number], name = 'web', windowMs = minute) {
  const store = expressRateLimitStore(await scene.store({ handler }), name);
  store.init({ windowMs });
  return store;
}

/** Starts an application with these limiters, which complain to `logger`, and returns a client. */
async function serve(...limits: Partial<Options>[]) {
  const logger = { error: vi.fn(), warn: vi.fn() };
  const app = express();
  const limiters = limits.map((options) => {
    const keyGenerator = (request: express.Request) => request.get('x-api-key') ?? 'anonymous';
    return rateLimit({ windowMs: minute, keyGenerator, logger, ...options });
  });
  for (const limiter of limiters) app.use(limiter);
  app.get('/', (_, response) => void response.send('hello'));
  app.get('/fail', (_, response) => void response.status(500).send('failed'));
  app.use(((error, _, response, __) => {
    response.status(503).send(String(error));
  }) satisfies express.ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const get = (key = 'a', path = '/') =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'x-api-key': key } });
  return { get, limiters, logger };
}

const statuses = async (responses: Promise<Response>[]) =>
  (await Promise.all(responses)).map(({ status }) => status).sort();

describe.each(storeHandlers)('%s', (handler) => {
  test('a key cannot pass for one of another limit', async () => {
    const [web, admin] = [await storeOf(handler, 'web'), await storeOf(handler, 'web:admin')];
    await web.increment('admin:a');
    expect(await admin.get('a')).toBeUndefined();
  });

  test('the store counts as the one in memory does', async () => {
    const memory = new MemoryStore();
    memory.init({ windowMs: minute } as Options);
    onTestFinished(() => memory.shutdown());
    const shared = await storeOf(handler);
    for (const step of [
      'get',
      'decrement',
      'increment',
      'increment',
      'get',
      'decrement',
      'increment',
      'resetKey',
      'get',
      'increment',
      'decrement',
      'decrement',
      'get',
      'increment',
      'resetKey',
      'resetKey',
      'increment',
    ] as const) {
      // Here the one in memory begins a window without a hit.
      if (step === 'decrement' && (await shared.get('a')) === undefined) continue;
      const [ours, theirs] = [await shared[step]('a'), await memory[step]('a')];
      expect(ours?.totalHits, step).toBe(theirs?.totalHits);
      const [end, other] = [ours?.resetTime.getTime() ?? 0, theirs?.resetTime?.getTime() ?? 0];
      expect(Math.abs(end - other), step).toBeLessThan(5_000);
    }
  });

  test('keys and limiters are counted apart, and processes together', async () => {
    const [web, other, login] = [
      await storeOf(handler),
      await storeOf(handler),
      await storeOf(handler, 'login'),
    ];
    const hits = async (count: Promise<{ totalHits: number }>) => (await count).totalHits;
    expect(await hits(web.increment('a'))).toBe(1);
    expect(await hits(other.increment('a'))).toBe(2);
    expect(await hits(web.increment('b'))).toBe(1);
    expect(await hits(login.increment('a'))).toBe(1);
    await other.resetKey('a');
    expect(await web.get('a')).toBe(undefined);
    expect(await hits(login.increment('a'))).toBe(2);
    for (const key of ['', ':', '{b}\n\0 "', '😀', 'k'.repeat(20_000)]) {
      expect(await hits(web.increment(key)), key).toBe(1);
      expect(await hits(other.increment(key)), key).toBe(2);
    }
  });

  test('locks in the same namespace leave the counts alone', async () => {
    const connections = await scene.store({ handler });
    const store = expressRateLimitStore(connections, 'web');
    store.init({ windowMs: minute });
    const mutex = new SharedMutex(connections);
    for (let i = 1; i <= 3; i++) {
      expect((await store.increment('a')).totalHits).toBe(i);
      await mutex.run('a', () => {});
    }
    // The last primitive that needs a session ends with it.
    await mutex.close();
    expect((await store.increment('a')).totalHits).toBe(4);
  });

  test('hits at once are each counted once', async () => {
    const stores = [await storeOf(handler), await storeOf(handler)];
    const counts = await Promise.all(
      Array.from({ length: 300 }, (_, i) => stores[i % 2]?.increment(`${i % 3}`)),
    );
    const totals = counts.map((count) => count?.totalHits).sort((a = 0, b = 0) => a - b);
    expect(totals).toEqual(Array.from({ length: 300 }, (_, i) => 1 + Math.floor(i / 3)));
  });

  test('a window ends for good, and its end does not move', async () => {
    const store = await storeOf(handler, 'short', 300);
    const end = Date.now() + 300;
    await store.increment('a');
    const ends: number[] = [];
    await vi.waitFor(async () => {
      const { totalHits, resetTime } = await store.increment('a');
      if (totalHits > 1) ends.push(resetTime.getTime());
      expect(totalHits).toBe(1);
    }, soon);
    // The store counts whole milliseconds.
    expect(Date.now()).toBeGreaterThanOrEqual(end - 1);
    expect(Math.min(...ends)).toBeGreaterThanOrEqual(end - 1);
  });

  test('a server refuses requests above the limit, of each key', async () => {
    const limit = { limit: 10, standardHeaders: 'draft-7' } as const;
    const { get, logger } = await serve({
      ...limit,
      store: expressRateLimitStore(await scene.store({ handler }), 'web'),
    });
    const other = await serve({
      ...limit,
      store: expressRateLimitStore(await scene.store({ handler }), 'web'),
    });
    const all = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? get('a') : other.get('a')));
    expect(await statuses(all)).toEqual([...Array(10).fill(200), ...Array(10).fill(429)]);
    const response = await get('b');
    expect(response.status).toBe(200);
    expect(response.headers.get('ratelimit')).toMatch(/^limit=10, remaining=9, reset=\d\d$/);
    expect((await get('a')).headers.get('retry-after')).toMatch(/^\d\d$/);
    expect(logger.error).not.toHaveBeenCalled();
    expect(logger.warn).not.toHaveBeenCalled();
  });

  test('failed requests are taken back, and a key can be reset', async () => {
    const { get, limiters } = await serve({
      limit: 2,
      skipFailedRequests: true,
      store: expressRateLimitStore(await scene.store({ handler }), 'web'),
    });
    const [limiter] = limiters;
    for (let i = 0; i < 5; i++) {
      expect((await get('a', '/fail')).status).toBe(500);
      await expect.poll(async () => (await limiter?.getKey('a'))?.totalHits, soon).toBe(0);
    }
    expect(await statuses([get(), get(), get()])).toEqual([200, 200, 429]);
    await limiter?.resetKey('a');
    expect(await statuses([get(), get(), get()])).toEqual([200, 200, 429]);
  });

  test('two limiters count a request each', async () => {
    const store = await scene.store({ handler });
    const { get, logger } = await serve(
      { limit: 100, store: expressRateLimitStore(store, 'hour'), windowMs: 60 * minute },
      { limit: 2, store: expressRateLimitStore(store, 'minute') },
    );
    const responses = [await get(), await get(), await get()];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(logger.error).not.toHaveBeenCalled();
  });

  test('shutdown waits for the replies, and refuses later requests', async () => {
    const store = await storeOf(handler);
    const count = store.increment('a');
    await store.shutdown();
    expect((await count).totalHits).toBe(1);
    await expect(store.increment('a')).rejects.toThrow("the rate limit store 'web' is closed");
    await store.shutdown();
  });

  test('the store is closed with its connections', async () => {
    const connections = await scene.store({ handler });
    const store = expressRateLimitStore(connections, 'web');
    store.init({ windowMs: minute });
    await store.increment('a');
    await connections.close(new Error('enough'));
    await expect(store.increment('a')).rejects.toThrow('enough');
    const late = expressRateLimitStore(connections, 'late');
    late.init({ windowMs: minute });
    await expect(late.increment('a')).rejects.toThrow('enough');
  });
});

test('one store for two limiters is reported, and keeps the window of the first', async () => {
  const store = expressRateLimitStore(await scene.store(), 'web');
  const { get, logger } = await serve({ store, windowMs: 5_000 }, { store, windowMs: 60 * minute });
  const reports = logger.error.mock.calls.map(String).join('\n');
  expect(reports).toContain("the store 'web' has a limiter already: each limiter needs its own");
  expect((await get()).headers.get('x-ratelimit-reset')).not.toBe(null);
  expect(Number((await store.get('a'))?.resetTime)).toBeLessThanOrEqual(Date.now() + 5_000);
});

test('the keys of a server expire, and lie in one slot of a cluster', async () => {
  const store = await storeOf('script');
  await store.increment('{a} b');
  expect(await scene.keys()).toEqual([`{${scene.namespace}}:count:3:web:{a} b`]);
  const life = Number(await scene.server.command('PTTL', `{${scene.namespace}}:count:3:web:{a} b`));
  expect(life).toBeGreaterThan(minute - 10_000);
  expect(life).toBeLessThanOrEqual(minute);
  await store.resetKey('{a} b');
  expect(await scene.keys()).toEqual([]);
});

test('hits of one tick are one trip', async () => {
  const store = await storeOf('script');
  await store.increment('a');
  const before = (await scene.calls()).evalsha ?? 0;
  await Promise.all(Array.from({ length: 100 }, (_, i) => store.increment(`${i % 10}`)));
  expect(((await scene.calls()).evalsha ?? 0) - before).toBe(1);
});

describe('while the store is away', () => {
  async function cut(options: Partial<Options>) {
    const proxy = await scene.proxy();
    const connections = await scene.store({ port: proxy.port });
    const store = expressRateLimitStore(connections, 'web', { deadline: 150 });
    const { get, logger } = await serve({ limit: 1, store, ...options });
    await vi.waitFor(async () => expect((await get('first')).status).not.toBe(503), soon);
    return { proxy, store, get, logger };
  }

  test('requests fail at the deadline', async () => {
    const { proxy, store, get } = await cut({});
    proxy.holdReplies();
    const response = await get();
    expect(response.status).toBe(503);
    expect(await response.text()).toBe('StoreError: the store has not replied within 150 ms');
    await expect(store.decrement('a')).rejects.toBeInstanceOf(StoreError);
    proxy.letGo();
  });

  test('requests pass at the deadline with passOnStoreError', async () => {
    const { proxy, get, logger } = await cut({ passOnStoreError: true });
    proxy.holdReplies();
    expect(await statuses([get(), get(), get()])).toEqual([200, 200, 200]);
    expect(String(logger.error.mock.calls[0])).toContain('the store has not replied within 150 ms');
    proxy.letGo();
  });

  test('after a lost connection hits are sent again, and what lowers a counter is not', async () => {
    const proxy = await scene.proxy();
    const connections = await scene.store({ port: proxy.port });
    const store = expressRateLimitStore(connections, 'web', { deadline: 10_000 });
    store.init({ windowMs: minute });
    await store.increment('a');
    await store.increment('a');
    const observer = await storeOf('script');
    proxy.holdReplies();
    const hits = [store.increment('a'), store.increment('a')];
    const taken = store.decrement('a');
    const outcome = expect(taken).rejects.toThrow('the connection was lost');
    await expect.poll(async () => (await observer.get('a'))?.totalHits, soon).toBe(3);
    proxy.cut();
    proxy.letGo();
    // Counted twice, and taken back once.
    expect((await Promise.all(hits)).map(({ totalHits }) => totalHits)).toEqual([4, 5]);
    await outcome;
  });

  test('the error of a store that refuses to write reaches the caller', async () => {
    const store = await storeOf('script');
    await scene.server.command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      await expect(store.increment('a')).rejects.toThrow(/the server cannot be used: .*OOM/);
    } finally {
      await scene.server.command('CONFIG', 'SET', 'maxmemory', '0');
    }
    expect((await store.increment('a')).totalHits).toBe(1);
  });
});

test('invalid arguments are refused', async () => {
  const connections = await scene.store();
  const make = expressRateLimitStore as (
    ...args: unknown[]
  ) => ReturnType<typeof expressRateLimitStore>;
  for (const [args, message] of [
    [[undefined, 'web'], 'store must be a store'],
    [[{}, 'web'], 'store must be a store'],
    [[connections], 'name must be a non-empty, well-formed string of at most 1000 characters'],
    [[connections, ''], 'name must be'],
    [[connections, '\ud800'], 'name must be'],
    [[connections, { prefix: 'rl:' }], 'name must be'],
    [[connections, 'web', { prefix: 'rl:' }], 'options has "prefix", expected only deadline'],
    [[connections, 'web', 100], 'options must be an object'],
    [[connections, 'web', { deadline: 0 }], 'deadline must be a number of milliseconds above 0'],
  ] as const) {
    expect(() => make(...args), message).toThrow(message);
  }
  const store = make(connections, 'web');
  await expect(store.increment('a')).rejects.toThrow('init was not called');
  for (const windowMs of [0, -1, Number.NaN, Infinity, '1 minute', undefined]) {
    expect(() => store.init({ windowMs } as never)).toThrow(
      'windowMs must be a number of milliseconds',
    );
  }
});
