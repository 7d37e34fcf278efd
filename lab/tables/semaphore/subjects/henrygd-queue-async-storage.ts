import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@henrygd/queue/async-storage',
  role: 'peer',
  package: '@henrygd/queue',
  note: 'The entry that its documentation offers for AsyncLocalStorage.',
  load: () => import('@henrygd/queue/async-storage'),
  run: {
    create: ({ newQueue }, limit) => newQueue(limit),
    run: (queue, work) => queue.add(work),
  },
});
