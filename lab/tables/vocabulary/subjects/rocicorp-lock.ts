import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@rocicorp/lock',
  role: 'peer',
  package: '@rocicorp/lock',
  load: () => import('@rocicorp/lock'),
  rwLock: {
    create: ({ RWLock }) => new RWLock(),
    read: (lock) => lock.read(),
    endRead: (_, release) => release(),
    write: (lock) => lock.write(),
    endWrite: (_, release) => release(),
  },
});
