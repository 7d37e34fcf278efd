/** The stores have the types that the libraries ask for. */
import rateLimitPlugin from '@fastify/rate-limit';
import { type Store as ExpressStore, rateLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { expectTypeOf, test } from 'vitest';
import { expressRateLimitStore, fastifyRateLimitStore, type Store } from '../index.js';

declare const store: Store;

test('express-rate-limit', () => {
  expectTypeOf(expressRateLimitStore(store, 'web')).toExtend<ExpressStore>();
  rateLimit({ store: expressRateLimitStore(store, 'web', { deadline: 100 }) });
  // @ts-expect-error each limiter has a name
  expressRateLimitStore(store);
  // @ts-expect-error the prefix is the name
  expressRateLimitStore(store, 'web', { prefix: 'rl:' });
});

test('@fastify/rate-limit', () => {
  expectTypeOf(
    fastifyRateLimitStore(store, 'web'),
  ).toExtend<rateLimitPlugin.FastifyRateLimitStoreCtor>();
  const app = fastify();
  void app.register(rateLimitPlugin, { max: 1, store: fastifyRateLimitStore(store, 'web') });
  app.createRateLimit({ store: fastifyRateLimitStore(store, 'web', { deadline: undefined }) });
});
