import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@henrygd/semaphore',
  role: 'peer',
  package: '@henrygd/semaphore',
  load: () => import('@henrygd/semaphore'),
  permits: {
    create: ({ getSemaphore }, limit) => getSemaphore(undefined, limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (semaphore) => semaphore.release(),
    asPublished: {
      // The limit is passed in place of the key: the semaphore of key 1, with the default limit 1.
      create: ({ getSemaphore }) => getSemaphore(1),
    },
  },
});
