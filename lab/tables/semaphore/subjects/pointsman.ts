import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'pointsman',
  role: 'ours',
  package: 'pointsman',
  load: () => import('pointsman'),
  permits: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (_, permit) => permit.release(),
    tryAcquire: (semaphore) => semaphore.tryAcquire(),
    acquireWithSignal: (semaphore, signal) => semaphore.acquire({ signal }),
    acquireWithTimeout: (semaphore, timeout) => semaphore.acquire({ timeout }),
  },
  run: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    run: (semaphore, work) => semaphore.run(work),
  },
});
