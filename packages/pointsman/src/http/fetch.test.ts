/** Fetch handlers, and the fields, in every runtime. */
import { describe, expect, test, vi } from 'vitest';
import { type HttpLimiter, type HttpRateState, rateLimitFetch } from './index.js';

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

describe('Fetch', () => {
  const handle = (response: () => Response) =>
    rateLimitFetch(admitting(), response, { key: () => 'k' })(new Request('http://localhost/'));

  test('further parameters reach the key and the handler', async () => {
    const limiter = admitting();
    const handler = rateLimitFetch(
      limiter,
      (request: Request, info: { hostname: string }, rest: number) =>
        new Response(`${request.method} ${info.hostname} ${rest}`),
      { key: (_, { hostname }) => hostname },
    );
    const response = await handler(new Request('http://localhost/'), { hostname: '::1' }, 3);
    expect(await response.text()).toBe('GET ::1 3');
    expect(limiter.check).toHaveBeenCalledWith('::1');
  });

  test('a response without a body, that is used again', async () => {
    const empty = new Response(null, { status: 204 });
    for (let i = 0; i < 2; i++) {
      const response = await handle(() => empty);
      expect(response.status).toBe(204);
      expect(response.headers.get('ratelimit')).toBe('"minute";r=99;t=60');
    }
  });

  test('a refused request does not reach the handler', async () => {
    const handler = vi.fn(() => new Response('hello'));
    const none = { ...minute, remaining: 0 };
    const limited = rateLimitFetch(refusing(2_100, none), handler, { key: () => 'k' });
    const response = await limited(new Request('http://localhost/'));
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(response.headers.get('ratelimit')).toBe('"minute";r=0;t=3');
    expect(await response.json()).toMatchObject({ status: 429 });
    expect(handler).not.toHaveBeenCalled();
  });

  test("the handler's error is the caller's", async () => {
    const handler = () => {
      throw new Error('oops');
    };
    await expect(handle(handler)).rejects.toThrow('oops');
  });
});

describe('fields', () => {
  const fieldsOf = async (limiter: HttpLimiter) => {
    const { headers } = await rateLimitFetch(limiter, () => new Response('hello'), {
      key: () => 'k',
    })(new Request('http://localhost/'));
    return [headers.get('ratelimit-policy'), headers.get('ratelimit'), headers.get('retry-after')];
  };

  test('rates of all requests are shown only if keys have none', async () => {
    const all = { ...minute, name: 'all', perKey: false, limit: 5_000, remaining: 0 };
    expect(await fieldsOf(admitting(all, minute))).toEqual([
      '"minute";q=100;w=60',
      '"minute";r=99;t=60',
      null,
    ]);
    expect(await fieldsOf(refusing(4_000, all, minute))).toEqual([
      '"minute";q=100;w=60',
      '"minute";r=99',
      '4',
    ]);
    expect(await fieldsOf(admitting(all))).toEqual(['"all";q=5000;w=60', '"all";r=0;t=60', null]);
  });

  test('times are whole seconds, rounded up', async () => {
    const short = { ...minute, window: 1_500, reset: 1 };
    expect(await fieldsOf(admitting(short))).toEqual([
      '"minute";q=100;w=2',
      '"minute";r=99;t=1',
      null,
    ]);
    const none = { ...minute, remaining: 0 };
    expect((await fieldsOf(refusing(0.1, none)))[2]).toBe('1');
    expect((await fieldsOf(refusing(Infinity, none)))[2]).toBe(null);
  });

  test('a name is a string of a structured field', async () => {
    const [policy] = await fieldsOf(admitting({ ...minute, name: 'a "b" \\ c\r\nd é;q=1' }));
    expect(policy).toBe('"a \\"b\\" \\\\ c__d _;q=1";q=100;w=60');
  });
});
