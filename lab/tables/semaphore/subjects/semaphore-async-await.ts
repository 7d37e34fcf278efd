import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'semaphore-async-await',
  role: 'peer',
  package: 'semaphore-async-await',
  load: () => import('semaphore-async-await'),
  permits: {
    create: ({ default: { default: Semaphore } }, limit) => new Semaphore(limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (semaphore) => semaphore.release(),
    tryAcquire: (semaphore) => semaphore.tryAcquire() || undefined,
    acquireWithTimeout: (semaphore, milliseconds) => semaphore.waitFor(milliseconds),
  },
  run: {
    create: ({ default: { default: Semaphore } }, limit) => new Semaphore(limit),
    run: (semaphore, work) => semaphore.execute(work),
  },
});
