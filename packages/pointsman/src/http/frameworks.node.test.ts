/** Rate limiting in real applications of each framework, with the decisions of a limiter made up by the test. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type HttpKey,
  type HttpLimiter,
  type HttpRateState,
  rateLimitExpress,
  rateLimitFastify,
  rateLimitFetch,
  rateLimitHono,
} from './index.js';

const minute: HttpRateState = {
  name: 'minute',
  perKey: true,
  limit: 100,
  window: 60_000,
  remaining: 99,
  reset: 59_001,
};
const admitting = (...rates: HttpRateState[]) =>
  limiterOf({ allowed: true, retryAfter: 0, rates: rates.length > 0 ? rates : [minute] });
const refusing = (retryAfter: number, ...rates: HttpRateState[]) =>
  limiterOf({ allowed: false, retryAfter, rates });

function limiterOf(result: Awaited<ReturnType<HttpLimiter['check']>>) {
  return { check: vi.fn(async (_key?: string) => result) };
}

type Get = (headers?: Record<string, string>) => Promise<Response>;
type KeyOf = (header: (name: string) => HttpKey) => HttpKey | Promise<HttpKey>;

interface Settings {
  readonly key?: KeyOf;
  /** Replaces the application's answer, which is `hello`. */
  readonly answer?: () => string;
}

/** Starts an application whose requests pass these limiters, and returns a client. */
type Serve = (limiters: readonly HttpLimiter[], settings?: Settings) => Promise<Get>;

const byHeader: KeyOf = (header) => header('x-api-key');

const serveFetch: Serve = async (limiters, { key = byHeader, answer = () => 'hello' } = {}) => {
  const handler = limiters.reduceRight<(request: Request) => Promise<Response>>(
    (handler, limiter) =>
      rateLimitFetch(limiter, handler, {
        key: (request) => key((name) => request.headers.get(name)),
      }),
    async () => new Response(answer()),
  );
  return (headers = {}) =>
    handler(new Request('http://localhost/', { headers })).catch(
      (error) => new Response(String(error), { status: 500 }),
    );
};

const serveHono: Serve = async (limiters, { key = byHeader, answer = () => 'hello' } = {}) => {
  const app = new Hono();
  for (const limiter of limiters) {
    app.use(rateLimitHono(limiter, { key: (c) => key((name) => c.req.header(name)) }));
  }
  app.get('/', (c) => c.text(answer()));
  app.onError((error, c) => c.text(String(error), 500));
  return async (headers = {}) => app.request('/', { headers });
};

const serveExpress: Serve = (limiters, settings) => startExpress(limiters, settings);

async function startExpress(
  limiters: readonly HttpLimiter[],
  { key, answer = () => 'hello' }: Settings = {},
  trusted?: boolean | string,
): Promise<Get> {
  const app = express();
  if (trusted !== undefined) app.set('trust proxy', trusted);
  const options = key && { key: (request: express.Request) => key((name) => request.get(name)) };
  for (const limiter of limiters) app.use(rateLimitExpress(limiter, options));
  app.get('/', (_, response) => void response.send(answer()));
  app.use(((error, _, response, __) => {
    response.status(500).send(String(error));
  }) satisfies express.ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return (headers = {}) => fetch(`http://127.0.0.1:${port}/`, { headers });
}

const serveFastify: Serve = (limiters, settings) => startFastify(limiters, settings);

async function startFastify(
  limiters: readonly HttpLimiter[],
  { key, answer = () => 'hello' }: Settings = {},
  trustProxy: boolean | string = false,
): Promise<Get> {
  const app = fastify({ trustProxy });
  onTestFinished(() => app.close());
  const options = key && {
    key: (request: fastify.FastifyRequest) =>
      key((name) => request.headers[name] as string | undefined),
  };
  for (const limiter of limiters) app.addHook('onRequest', rateLimitFastify(limiter, options));
  app.get('/', async () => answer());
  app.setErrorHandler((error, _, reply) => reply.code(500).send(String(error)));
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  return (headers = {}) => fetch(address, { headers });
}

describe.each([
  ['Fetch', serveFetch],
  ['Hono', serveHono],
  ['Express', serveExpress],
  ['Fastify', serveFastify],
])('%s', (name, serve) => {
  test('an admitted request has the policy and what is left of it', async () => {
    const limiter = admitting();
    const get = await serve([limiter], { key: byHeader });
    const response = await get({ 'x-api-key': 'k1' });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('hello');
    expect(response.headers.get('ratelimit-policy')).toBe('"minute";q=100;w=60');
    expect(response.headers.get('ratelimit')).toBe('"minute";r=99;t=60');
    expect(response.headers.get('retry-after')).toBe(null);
    expect(limiter.check.mock.calls).toEqual([['k1']]);
  });

  test('a refused request does not reach the application', async () => {
    const answer = vi.fn(() => 'hello');
    const hour = { ...minute, name: 'hour', limit: 1_000, window: 3_600_000, remaining: 500 };
    const get = await serve([refusing(2_100, { ...minute, remaining: 0 }, hour)], { answer });
    const response = await get();
    expect(response.status).toBe(429);
    // Fastify adds the charset.
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json\b/);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(response.headers.get('ratelimit-policy')).toBe(
      '"minute";q=100;w=60, "hour";q=1000;w=3600',
    );
    expect(response.headers.get('ratelimit')).toBe('"minute";r=0;t=3, "hour";r=500');
    expect(await response.json()).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Too many requests',
      status: 429,
      'violated-policies': ['minute'],
    });
    expect(answer).not.toHaveBeenCalled();
  });

  test('each of several limiters adds its fields, and the first that refuses ends it', async () => {
    const day = { ...minute, name: 'day', limit: 5, window: 86_400_000, remaining: 4 };
    const both = await serve([admitting(), admitting(day)]);
    const admitted = await both();
    expect(await admitted.text()).toBe('hello');
    const policies = admitted.headers.get('ratelimit-policy')?.split(', ').sort();
    expect(policies).toEqual(['"day";q=5;w=86400', '"minute";q=100;w=60']);
    const last = admitting();
    const get = await serve([admitting(), refusing(1, { ...day, remaining: 0 }), last]);
    const refused = await get();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    const limits = refused.headers.get('ratelimit')?.split(', ').sort();
    expect(limits).toEqual(['"day";r=0;t=1', '"minute";r=99;t=60']);
    expect(last.check).not.toHaveBeenCalled();
  });

  test("the framework gets the limiter's error and the key's", async () => {
    const away = { check: () => Promise.reject(new Error('the store is away')) };
    const get = await serve([away]);
    const response = await get();
    expect(response.status).toBe(500);
    expect(await response.text()).toBe('Error: the store is away');
    expect(response.headers.get('ratelimit')).toBe(null);
    const limiter = admitting();
    const key: KeyOf = async () => {
      throw new Error('no session');
    };
    const other = await serve([limiter], { key });
    expect(await other().then((response) => response.text())).toBe('Error: no session');
    expect(limiter.check).not.toHaveBeenCalled();
  });

  test('an undecided request that is admitted has no fields; one that is refused, only Retry-After', async () => {
    const admitted = await serve([limiterOf({ allowed: true, retryAfter: 0, rates: [] })]);
    const { status, headers } = await admitted();
    expect(status).toBe(200);
    expect(headers.has('ratelimit') || headers.has('ratelimit-policy')).toBe(false);
    const refused = await serve([limiterOf({ allowed: false, retryAfter: 600, rates: [] })]);
    const response = await refused();
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.has('ratelimit')).toBe(false);
    expect(await response.json()).toMatchObject({ 'violated-policies': [] });
  });

  test('a request without a key, or with an empty one, shares the limit of all such requests', async () => {
    const limiter = admitting();
    const get = await serve([limiter], { key: async (header) => header('x-api-key') });
    await get();
    await get({ 'x-api-key': '' });
    expect(limiter.check.mock.calls).toEqual([[undefined], [undefined]]);
  });

  test.runIf(name !== 'Fetch')('the error of the application has the fields too', async () => {
    const get = await serve([admitting()], {
      answer: () => {
        throw new Error('oops');
      },
    });
    const response = await get();
    expect(response.status).toBe(500);
    expect(response.headers.get('ratelimit')).toBe('"minute";r=99;t=60');
  });
});

describe.each([
  ['Express', startExpress],
  ['Fastify', startFastify],
] as const)('the address as the key: %s', (_, start) => {
  const forged = { 'x-forwarded-for': '203.0.113.7, 2001:db8::5', forwarded: 'for=203.0.113.7' };

  test('by default it is that of the socket, and what the client says is ignored', async () => {
    const limiter = admitting();
    const get = await start([limiter]);
    await get();
    await get(forged);
    await get({ 'x-forwarded-for': '198.51.100.1', 'x-real-ip': '198.51.100.1' });
    expect(limiter.check.mock.calls).toEqual([['127.0.0.1'], ['127.0.0.1'], ['127.0.0.1']]);
  });

  test('behind a trusted proxy it is the address that this proxy has added', async () => {
    const limiter = admitting();
    const get = await start([limiter], {}, '127.0.0.1');
    await get(forged);
    await get({ 'x-forwarded-for': '198.51.100.9, 2001:db8::6' });
    expect(limiter.check.mock.calls).toEqual([['2001:db8:0:0::/64'], ['2001:db8:0:0::/64']]);
  });

  test('behind another proxy than the trusted ones it is the address of that proxy', async () => {
    const limiter = admitting();
    const get = await start([limiter], {}, '10.0.0.0/8');
    await get(forged);
    expect(limiter.check.mock.calls).toEqual([['127.0.0.1']]);
  });
});

test('a Fetch handler may return an error, cookies and immutable fields', async () => {
  const handle = (response: () => Response) =>
    rateLimitFetch(admitting(), response, { key: () => 'k' })(new Request('http://localhost/'));
  const redirect = await handle(() => Response.redirect('http://localhost/there', 303));
  expect(redirect.status).toBe(303);
  expect(redirect.headers.get('location')).toBe('http://localhost/there');
  expect(redirect.headers.get('ratelimit')).toBe('"minute";r=99;t=60');
  const headers = [
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b=2'],
  ] as [string, string][];
  const cookies = await handle(() => new Response('hello', { headers, statusText: 'Fine' }));
  expect(cookies.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  expect(cookies.statusText).toBe('Fine');
  const error = Response.error();
  expect(await handle(() => error)).toBe(error);
});

test('bad arguments are refused at once', () => {
  const limiter = admitting();
  const key = () => 'k';
  for (const middleware of [rateLimitHono, rateLimitExpress, rateLimitFastify] as ((
    limiter: unknown,
    options?: unknown,
  ) => unknown)[]) {
    expect(() => middleware(undefined, { key })).toThrow('limiter must be a limiter with a method');
    expect(() => middleware(limiter, { key: 'ip' })).toThrow('key must be a function, got "ip"');
    expect(() => middleware(limiter, { key, keys: 1 })).toThrow('options has "keys"');
    expect(() => middleware(limiter, 'ip')).toThrow(TypeError);
    expect(() => middleware(limiter, null)).toThrow(TypeError);
  }
  const fetching = rateLimitFetch as (...parameters: unknown[]) => unknown;
  expect(() => fetching(limiter, { key })).toThrow('handler must be a function');
  expect(() => fetching(limiter, () => {})).toThrow(TypeError);
  expect(() => fetching(limiter, () => {}, {})).toThrow('key must be a function, got undefined');
  expect(() => fetching({}, () => {}, { key })).toThrow('limiter must be');
  expect(() => (rateLimitHono as (limiter: unknown) => unknown)(limiter)).toThrow(TypeError);
  expect(limiter.check).not.toHaveBeenCalled();
});
