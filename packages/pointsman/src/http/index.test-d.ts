/** The public types. */
import express from 'express';
import fastify, { type FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import { expectTypeOf, test } from 'vitest';
import type { SharedLimiter } from '../shared/index.js';
import type * as entry from './index.js';
import {
  type HttpLimiter,
  rateLimitExpress,
  rateLimitFastify,
  rateLimitFetch,
  rateLimitHono,
} from './index.js';

declare const limiter: SharedLimiter;

test('the entry has these values, and no others', () => {
  expectTypeOf<keyof typeof entry>().toEqualTypeOf<
    'addressKey' | 'rateLimitExpress' | 'rateLimitFastify' | 'rateLimitFetch' | 'rateLimitHono'
  >();
});

test('a shared limiter is a limiter', () => {
  expectTypeOf<SharedLimiter>().toExtend<HttpLimiter>();
});

test('a Fetch handler keeps its parameters', () => {
  const handler = (_request: Request, _env: { db: string }) => new Response();
  const limited = rateLimitFetch(limiter, handler, {
    key: (request, { db }) => request.headers.get(db),
  });
  expectTypeOf(limited).toEqualTypeOf<
    (request: Request, env: { db: string }) => Promise<Response>
  >();
  const app = new Hono<{ Bindings: { db: string } }>();
  const whole = rateLimitFetch(limiter, app.fetch, { key: ({ headers }) => headers.get('a') });
  expectTypeOf(whole).toBeCallableWith(new Request('http://localhost/'), { db: 'a' });
  const byHeader = rateLimitFetch(limiter, handler, { key: ({ headers }) => headers.get('a') });
  expectTypeOf(byHeader).toEqualTypeOf(limited);
  interface OwnRequest extends Request {
    readonly ownUrl: URL;
  }
  const own = rateLimitFetch(limiter, async (_: OwnRequest) => new Response(), {
    key: ({ ownUrl }) => ownUrl.hostname,
  });
  expectTypeOf(own).parameters.toEqualTypeOf<[_: OwnRequest]>();
  const plain = rateLimitFetch(limiter, (request) => new Response(request.url), {
    key: (request) => request.headers.get('a'),
  });
  expectTypeOf(plain).toBeCallableWith(new Request('http://localhost/'));
  // @ts-expect-error a handler returns a response
  rateLimitFetch(limiter, () => 'hello', { key: () => 'a' });
  // @ts-expect-error a Fetch handler has no default key
  rateLimitFetch(limiter, handler, {});
  // @ts-expect-error a key is a string
  rateLimitFetch(limiter, handler, { key: () => 1 });
});

test('each framework takes its middleware, with its own request', () => {
  const hono = new Hono<{ Variables: { user: string } }>();
  const ofUser = (c: Context<{ Variables: { user: string } }>) => c.get('user');
  hono.use(rateLimitHono(limiter, { key: ofUser }));
  hono.get('/', rateLimitHono(limiter, { key: (c) => c.req.header('x-api-key') }), (c) =>
    c.text(''),
  );
  const app = express();
  app.use(rateLimitExpress(limiter));
  app.use(rateLimitExpress(limiter, { key: (request) => request.ip }));
  const byUser = { key: (request: express.Request) => request.get('x-user') };
  app.get('/', rateLimitExpress(limiter, byUser), (_, response) => void response.end());
  const server = fastify();
  server.addHook('onRequest', rateLimitFastify(limiter));
  server.addHook(
    'onRequest',
    rateLimitFastify(limiter, { key: ({ headers }) => String(headers.authorization) }),
  );
  const byHost = { key: (request: FastifyRequest) => request.hostname };
  server.get('/there', { onRequest: rateLimitFastify(limiter, byHost) }, async () => '');
  server.get('/', { onRequest: rateLimitFastify(limiter) }, async () => '');
});
