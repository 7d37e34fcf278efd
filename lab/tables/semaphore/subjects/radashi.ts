import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'radashi',
  role: 'peer',
  package: 'radashi',
  load: () => import('radashi'),
  permits: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (_, permit) => permit.release(),
    acquireWithSignal: (semaphore, signal) => semaphore.acquire({ signal }),
  },
});
