import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'semaphore-async-await',
  role: 'peer',
  package: 'semaphore-async-await',
  load: async () => {
    const { default: module } = await import('semaphore-async-await');
    // Node gives a transpiled module as the default export, Bun that module's own default.
    return module.default ?? module;
  },
  permits: {
    create: (Semaphore, limit) => new Semaphore(limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (semaphore) => semaphore.release(),
    tryAcquire: (semaphore) => semaphore.tryAcquire() || undefined,
    acquireWithTimeout: (semaphore, milliseconds) => semaphore.waitFor(milliseconds),
  },
  run: {
    create: (Semaphore, limit) => new Semaphore(limit),
    run: (semaphore, work) => semaphore.execute(work),
  },
});
