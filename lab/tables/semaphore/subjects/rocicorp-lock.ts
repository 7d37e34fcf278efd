import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@rocicorp/lock',
  role: 'peer',
  package: '@rocicorp/lock',
  note: 'A lock: its limit is 1.',
  load: () => import('@rocicorp/lock'),
  permits: {
    onlyOne: true,
    create: ({ Lock }) => new Lock(),
    acquire: (lock) => lock.lock(),
    release: (_, release) => release(),
  },
  run: {
    create: ({ Lock }) => new Lock(),
    run: (lock, work) => lock.withLock(work),
  },
});
