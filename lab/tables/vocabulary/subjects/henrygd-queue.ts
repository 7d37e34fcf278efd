import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@henrygd/queue',
  role: 'peer',
  package: '@henrygd/queue',
  load: () => import('@henrygd/queue'),
  limiter: {
    rules: ['concurrency'],
    create: ({ newQueue }, { concurrency }) => newQueue(concurrency),
    run: (queue, work) => queue.add(work),
  },
});
