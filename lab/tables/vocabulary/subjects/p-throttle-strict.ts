import { defineSubject, type Work } from '../subject.js';

export default defineSubject({
  name: 'p-throttle, strict',
  role: 'peer',
  package: 'p-throttle',
  note: 'With sliding windows.',
  load: () => import('p-throttle'),
  limiter: {
    rules: ['rate'],
    create: ({ default: pThrottle }, { rate = { limit: 1, per: 1 } }) =>
      pThrottle({ limit: rate.limit, interval: rate.per, strict: true })((work: Work) => work()),
    run: (throttled, work) => throttled(work),
  },
});
