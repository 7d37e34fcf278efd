import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'async-sema',
  role: 'peer',
  package: 'async-sema',
  note: 'RateLimit, awaited before the function.',
  load: () => import('async-sema'),
  limiter: {
    rules: ['rate'],
    create: ({ RateLimit }, { rate = { limit: 1, per: 1 } }) =>
      RateLimit(rate.limit, { timeUnit: rate.per }),
    run: async (limit, work) => {
      await limit();
      await work();
    },
  },
});
