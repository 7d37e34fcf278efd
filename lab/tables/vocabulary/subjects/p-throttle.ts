import { defineSubject, type Work } from '../subject.js';

export default defineSubject({
  name: 'p-throttle',
  role: 'peer',
  package: 'p-throttle',
  note: 'With its defaults: fixed windows.',
  load: () => import('p-throttle'),
  limiter: {
    rules: ['rate'],
    create: ({ default: pThrottle }, { rate = { limit: 1, per: 1 } }) =>
      pThrottle({ limit: rate.limit, interval: rate.per })((work: Work) => work()),
    run: (throttled, work) => throttled(work),
  },
});
