import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@henrygd/queue',
  role: 'peer',
  package: '@henrygd/queue',
  note: 'The plain entry.',
  load: () => import('@henrygd/queue'),
  run: {
    create: ({ newQueue }, limit) => newQueue(limit),
    run: (queue, work) => queue.add(work),
  },
});
