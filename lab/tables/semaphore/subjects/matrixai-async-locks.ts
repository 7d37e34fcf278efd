import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@matrixai/async-locks',
  role: 'peer',
  package: '@matrixai/async-locks',
  load: () => import('@matrixai/async-locks'),
  permits: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    acquire: (semaphore) => semaphore.lock()(),
    release: (_, [release]) => void release(),
    acquireWithSignal: (semaphore, signal) => semaphore.lock({ signal })(),
    acquireWithTimeout: (semaphore, timer) => semaphore.lock({ timer })(),
  },
  run: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    run: (semaphore, work) => semaphore.withF(work),
  },
});
