import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@sapphire/async-queue',
  role: 'peer',
  package: '@sapphire/async-queue',
  note: 'A queue for one: its limit is 1.',
  load: () => import('@sapphire/async-queue'),
  permits: {
    onlyOne: true,
    create: ({ AsyncQueue }) => new AsyncQueue(),
    acquire: (queue) => queue.wait(),
    release: (queue) => queue.shift(),
    acquireWithSignal: (queue, signal) => queue.wait({ signal }),
  },
});
