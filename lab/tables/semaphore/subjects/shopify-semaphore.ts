import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@shopify/semaphore',
  role: 'peer',
  package: '@shopify/semaphore',
  note: 'The promise of its release is not awaited; its documentation calls that optional.',
  load: () => import('@shopify/semaphore'),
  permits: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (_, permit) => void permit.release(),
  },
});
