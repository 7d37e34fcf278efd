/** @fastify/rate-limit itself, with counts in a store. */
import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit';
import fastify from 'fastify';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { soon, storeHandlers, useServer } from '../../../tests/redis/scene.js';
import { fastifyRateLimitStore, type Store } from '../index.js';

const scene = useServer();
const minute = 60_000;
const keyGenerator = ({ headers }: fastify.FastifyRequest) => String(headers['x-api-key']);

/** An application whose limits are counted in a store. */
async function serve(store: Store, options: RateLimitPluginOptions, name = 'web') {
  const app = fastify();
  onTestFinished(() => app.close());
  const counted = { timeWindow: minute, keyGenerator, store: fastifyRateLimitStore(store, name) };
  await app.register(rateLimit, { ...counted, ...options });
  app.get('/', async () => 'hello');
  const get = async (url = '/', key = 'a') => {
    const response = await app.inject({ url, headers: { 'x-api-key': key } });
    const { statusCode, headers, body } = response;
    return {
      statusCode,
      body,
      remaining: Number(headers['x-ratelimit-remaining']),
      reset: Number(headers['x-ratelimit-reset']),
    };
  };
  return { app, get };
}

const statuses = async (responses: Promise<{ statusCode: number }>[]) =>
  (await Promise.all(responses)).map(({ statusCode }) => statusCode).sort();

describe.each(storeHandlers)('%s', (handler) => {
  const storeOf = () => scene.store({ handler });

  test('processes share a limit of each key', async () => {
    const one = await serve(await storeOf(), { max: 10 });
    const other = await serve(await storeOf(), { max: 10 });
    const all = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : other).get());
    expect(await statuses(all)).toEqual([...Array(10).fill(200), ...Array(10).fill(429)]);
    const { remaining, reset } = await one.get('/', 'b');
    expect(remaining).toBe(9);
    expect(reset).toBeGreaterThan(30);
    expect(reset).toBeLessThanOrEqual(60);
  });

  test('a window ends, and the next one begins with a request', async () => {
    const { get } = await serve(await storeOf(), { max: 1, timeWindow: 300 });
    const end = Date.now() + 300;
    expect((await get()).statusCode).toBe(200);
    await vi.waitFor(async () => expect((await get()).statusCode).toBe(200), soon);
    expect(Date.now()).toBeGreaterThanOrEqual(end - 1);
  });

  test('clients that do not stop are banned', async () => {
    const { get } = await serve(await storeOf(), { max: 1, ban: 1 });
    const responses = [await get(), await get(), await get(), await get()];
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([200, 429, 403, 403]);
    expect((await get('/', 'b')).statusCode).toBe(200);
  });

  test('each request above the limit doubles the window with exponentialBackoff', async () => {
    const { get } = await serve(await storeOf(), { max: 2, exponentialBackoff: true });
    const resets: number[] = [];
    for (let i = 0; i < 6; i++) resets.push((await get()).reset / 60);
    expect(resets.map(Math.ceil)).toEqual([1, 1, 1, 2, 4, 8]);
  });

  test('each request above the limit begins the window anew with continueExceeding', async () => {
    const store = await storeOf();
    const { get } = await serve(store, { max: 1 });
    // Its windows are longer, which shows where one begins.
    const longer = await serve(store, { max: 2, timeWindow: 10 * minute, continueExceeding: true });
    expect((await get()).reset).toBeLessThanOrEqual(60);
    expect((await longer.get()).reset).toBeLessThanOrEqual(60);
    expect((await longer.get()).reset).toBeGreaterThan(60);
    expect((await get()).reset).toBeGreaterThan(60);
  });

  test('routes with limits of their own are counted apart, also from equal keys', async () => {
    const { app, get } = await serve(await storeOf(), { max: 2 });
    const config = { rateLimit: { max: 1 } };
    app.get('/one', { config }, async () => 'one');
    app.post('/one', { config }, async () => 'one');
    app.get('/other', { config }, async () => 'other');
    app.get('/plain', async () => 'plain');
    expect(await statuses([get('/one'), get('/one')])).toEqual([200, 429]);
    expect(await statuses([get('/other'), get('/other')])).toEqual([200, 429]);
    const headers = { 'x-api-key': 'a' };
    expect((await app.inject({ url: '/one', method: 'POST', headers })).statusCode).toBe(200);
    expect(await statuses([get('/'), get('/plain'), get('/')])).toEqual([200, 200, 429]);
    expect((await get('/', '/GET /one:a')).statusCode).toBe(200);
  });

  test('a route keeps its own rules', async () => {
    const { app, get } = await serve(await storeOf(), { max: 1, exponentialBackoff: true });
    const config = { rateLimit: { exponentialBackoff: false } };
    app.get('/plain', { config }, async () => 'plain');
    const resets: number[] = [];
    for (let i = 0; i < 4; i++) resets.push(Math.ceil((await get('/plain')).reset / 60));
    expect(resets).toEqual([1, 1, 1, 1]);
  });

  test('registrations of different names are counted apart', async () => {
    const store = await storeOf();
    const web = await serve(store, { max: 1 });
    const login = await serve(store, { max: 1 }, 'login');
    expect((await web.get()).statusCode).toBe(200);
    expect((await login.get()).statusCode).toBe(200);
    expect((await login.get()).statusCode).toBe(429);
  });

  test('a look uses up nothing', async () => {
    const { app } = await serve(await storeOf(), { max: 2, global: false });
    const check = app.createRateLimit();
    app.get('/look', async (request) => check(request, { increment: false }));
    app.get('/count', async (request) => check(request));
    const headers = { 'x-api-key': 'a' };
    const left = async (url: string) => {
      const { remaining, ttl } = (await app.inject({ url, headers })).json();
      return [remaining, ttl > 0];
    };
    expect(await left('/look')).toEqual([2, false]);
    expect(await left('/count')).toEqual([1, true]);
    expect(await left('/look')).toEqual([1, true]);
    expect(await left('/look')).toEqual([1, true]);
    expect(await left('/count')).toEqual([0, true]);
  });

  test('limits and windows of each request, and numbers as keys', async () => {
    const { get } = await serve(await storeOf(), {
      max: async (_, key) => Number(key),
      timeWindow: async () => 0.5 * minute,
      keyGenerator: ({ headers }) => Number(headers['x-api-key']),
    });
    expect(await statuses([get('/', '1'), get('/', '1')])).toEqual([200, 429]);
    const { remaining, reset } = await get('/', '3');
    expect(remaining).toBe(2);
    expect(reset).toBeLessThanOrEqual(30);
  });

  test('windows without a length and without an end', async () => {
    const none = await serve(await storeOf(), { max: 1, timeWindow: 0 }, 'none');
    await none.get();
    await vi.waitFor(async () => expect((await none.get()).statusCode).toBe(200), soon);
    const options = { max: 0, timeWindow: '285421 years', exponentialBackoff: true };
    const { get } = await serve(await storeOf(), options, 'endless');
    for (let i = 0; i < 3; i++) {
      const { body } = await get();
      expect(JSON.parse(body).message).toBe('Rate limit exceeded, retry in 285421 years');
    }
  });
});

describe('while the store is away', () => {
  async function cut(options: RateLimitPluginOptions) {
    const proxy = await scene.proxy();
    const connections = await scene.store({ port: proxy.port });
    const store = fastifyRateLimitStore(connections, 'web', { deadline: 150 });
    const { get } = await serve(connections, { max: 1, store, ...options });
    await vi.waitFor(async () => expect((await get('/', 'first')).statusCode).not.toBe(500), soon);
    return { proxy, get };
  }

  test('requests fail at the deadline', async () => {
    const { proxy, get } = await cut({});
    proxy.holdReplies();
    const { statusCode, body } = await get();
    expect(statusCode).toBe(500);
    expect(JSON.parse(body).message).toBe('the store has not replied within 150 ms');
    proxy.letGo();
  });

  test('requests pass at the deadline with skipOnError', async () => {
    const { proxy, get } = await cut({ skipOnError: true });
    proxy.holdReplies();
    expect(await statuses([get(), get(), get()])).toEqual([200, 200, 200]);
    proxy.letGo();
  });
});

test('invalid arguments are refused', async () => {
  const connections = await scene.store();
  const make = fastifyRateLimitStore as (...args: unknown[]) => unknown;
  expect(() => make({}, 'web')).toThrow('store must be a store');
  expect(() => make(connections)).toThrow('name must be a non-empty, well-formed string');
  expect(() => make(connections, 'web', { max: 1 })).toThrow('options has "max", expected only');
  expect(() => make(connections, 'web', { deadline: '1' })).toThrow('deadline must be a number');
});
