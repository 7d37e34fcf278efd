import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'async-lock',
  role: 'peer',
  package: 'async-lock',
  note: 'One key, so its limit is 1; maxPending is raised from its default of 1,000.',
  load: () => import('async-lock'),
  run: {
    create: ({ default: AsyncLock }) => new AsyncLock({ maxPending: Number.POSITIVE_INFINITY }),
    run: (lock, work) => lock.acquire('key', work),
  },
});
