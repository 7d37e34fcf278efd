import type { SemaphoreInterface } from 'async-mutex';
import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'async-mutex',
  role: 'peer',
  package: 'async-mutex',
  note: 'Released by the function that acquire returns; in the document by the semaphore itself.',
  load: () => import('async-mutex'),
  permits: {
    create: ({ Semaphore }, limit): SemaphoreInterface => new Semaphore(limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (_, [, release]) => release(),
    asPublished: { release: (semaphore) => semaphore.release() },
    createWithTimeout: ({ Semaphore, withTimeout }, limit, milliseconds) =>
      withTimeout(new Semaphore(limit), milliseconds),
  },
  run: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    run: (semaphore, work) => semaphore.runExclusive(work),
  },
});
