import { defineSubject, type Work } from '../subject.js';

export default defineSubject({
  name: 'es-toolkit',
  role: 'peer',
  package: 'es-toolkit',
  note: 'Functions are run through limitAsync.',
  load: () => import('es-toolkit/promise'),
  permits: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (semaphore) => semaphore.release(),
  },
  run: {
    create: ({ limitAsync }, limit) => limitAsync((work: Work) => work(), limit),
    run: (limited, work) => limited(work),
  },
});
