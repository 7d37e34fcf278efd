import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'p-ratelimit',
  role: 'peer',
  package: 'p-ratelimit',
  load: () => import('p-ratelimit'),
  limiter: {
    rules: ['concurrency', 'rate', 'both'],
    create: ({ pRateLimit }, { concurrency, rate }) =>
      pRateLimit({
        ...(Number.isFinite(concurrency) ? { concurrency } : {}),
        ...(rate ? { rate: rate.limit, interval: rate.per } : {}),
      }),
    run: (limit, work) => limit(work),
  },
});
