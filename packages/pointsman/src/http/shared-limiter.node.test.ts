/** Rate limiting with shared limiters on a real server. */
import fastify from 'fastify';
import { expect, onTestFinished, test, vi } from 'vitest';
import { soon, useServer } from '../../tests/redis/scene.js';
import { SharedLimiter, type SharedLimiterOptions } from '../shared/index.js';
import { rateLimitFastify, rateLimitFetch, type ServerRequest } from './index.js';

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

function clientOf(limiter: SharedLimiter) {
  const handler = rateLimitFetch(limiter, () => new Response('hello'), {
    key: (request) => request.headers.get('x-api-key'),
  });
  return (key: string) =>
    handler(new Request('http://localhost/', { headers: { 'x-api-key': key } }));
}

test('several processes of several frameworks share a limit of each key', async () => {
  const limits = { perKey: { rate: { limit: 10, per: minute } } };
  const get = clientOf(await limiterOn(limits));
  const app = fastify();
  onTestFinished(() => app.close());
  const limiter = await limiterOn(limits);
  const key = ({ headers }: ServerRequest) => String(headers['x-api-key']);
  app.addHook('onRequest', rateLimitFastify(limiter, { key }));
  app.get('/', async () => 'hello');
  const inject = (key: string) => app.inject({ url: '/', headers: { 'x-api-key': key } });
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async (_, i) =>
      i % 2 === 0 ? (await get('a')).status : (await inject('a')).statusCode,
    ),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  expect((await get('b')).headers.get('ratelimit')).toMatch(/^"rate";r=9;t=\d+$/);
  const refused = await get('a');
  const wait = refused.headers.get('retry-after');
  expect(Number(wait)).toBeGreaterThan(40);
  expect(Number(wait)).toBeLessThanOrEqual(60);
  expect(refused.headers.get('ratelimit')).toBe(`"rate";r=0;t=${wait}`);
});

test('the fields have windows, buckets and weights of the rates of the key', async () => {
  const limiter = await limiterOn({
    rate: { limit: 1_000, per: minute, name: 'all' },
    perKey: {
      rate: [
        { limit: 50, per: minute, name: 'minute' },
        { limit: 10, per: 1_000, burst: 100, name: 'burst' },
      ],
    },
  });
  const { headers } = await clientOf(limiter)('a');
  expect(headers.get('ratelimit-policy')).toBe('"minute";q=50;w=60, "burst";q=100;w=10');
  expect(headers.get('ratelimit')).toBe('"minute";r=49;t=60, "burst";r=99;t=1');
  const { rates } = await limiter.check('a', { weight: 5 });
  expect(rates).toMatchObject([
    { name: 'all', perKey: false, limit: 1_000, window: minute, remaining: 994 },
    { name: 'minute', perKey: true, limit: 50, window: minute, remaining: 44 },
    { name: 'burst', perKey: true, limit: 100, window: 10_000 },
  ]);
});

test.each([
  ['long', 'k'.repeat(1_001), 'l'.repeat(5_000)],
  ['torn', '\ud800', 'a\udc00'],
])('a %s key is a key like others', async (_, one, other) => {
  const limiter = await limiterOn({ perKey: { rate: { limit: 2, per: minute } } });
  const get = (key: string) =>
    rateLimitFetch(limiter, () => new Response('hello'), { key: () => key })(
      new Request('http://localhost/'),
    );
  const statuses = [await get(one), await get(one), await get(one), await get(other)];
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
});

test('a refusal of all keys together says when, and not what', async () => {
  const limiter = await limiterOn({
    rate: { limit: 1, per: minute, name: 'all' },
    perKey: { rate: { limit: 5, per: minute } },
  });
  const get = clientOf(limiter);
  await get('a');
  const { status, headers } = await get('b');
  expect(status).toBe(429);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(40);
  expect(headers.get('ratelimit-policy')).toBe('"rate";q=5;w=60');
  expect(headers.get('ratelimit')).toBe('"rate";r=5');
});

test('while the store is away, whenUnavailable decides', async () => {
  const proxy = await scene.proxy();
  const rate = { limit: 100, per: minute };
  const settings = { port: proxy.port };
  const refusing = await limiterOn({ rate, deadline: 150 }, settings);
  const allowing = await limiterOn({ rate, deadline: 150, whenUnavailable: 'allow' }, settings);
  for (const limiter of [refusing, allowing]) {
    await vi.waitUntil(() => limiter.tryAcquire().then(Boolean, () => false), soon);
  }
  proxy.holdReplies();
  await expect(clientOf(refusing)('a')).rejects.toThrow('has not decided within 150 ms');
  const { status, headers } = await clientOf(allowing)('a');
  expect(status).toBe(200);
  expect(headers.get('ratelimit')).toBe(null);
  proxy.letGo();
});
