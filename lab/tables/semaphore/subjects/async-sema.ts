import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'async-sema',
  role: 'peer',
  package: 'async-sema',
  note: 'Made with capacity 5,000; in workerd its import of events is the npm polyfill.',
  load: () => import('async-sema'),
  permits: {
    create: ({ Sema }, limit) => new Sema(limit, { capacity: 5_000 }),
    acquire: (semaphore) => semaphore.acquire(),
    release: (semaphore) => semaphore.release(),
    tryAcquire: (semaphore) => semaphore.tryAcquire(),
  },
});
