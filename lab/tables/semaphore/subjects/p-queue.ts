import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'p-queue',
  role: 'peer',
  package: 'p-queue',
  load: () => import('p-queue'),
  run: {
    create: ({ default: PQueue }, concurrency) => new PQueue({ concurrency }),
    run: (queue, work) => queue.add(work),
    runWithSignal: (queue, work, signal) => queue.add(work, { signal }),
  },
});
