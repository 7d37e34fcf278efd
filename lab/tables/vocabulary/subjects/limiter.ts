import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'limiter',
  role: 'peer',
  package: 'limiter',
  note: 'removeTokens(1), then the function.',
  load: () => import('limiter'),
  limiter: {
    rules: ['rate'],
    create: ({ RateLimiter }, { rate = { limit: 1, per: 1 } }) =>
      new RateLimiter({ tokensPerInterval: rate.limit, interval: rate.per }),
    run: async (limiter, work) => {
      await limiter.removeTokens(1);
      await work();
    },
  },
});
