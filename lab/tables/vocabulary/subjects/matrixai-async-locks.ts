import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@matrixai/async-locks',
  role: 'peer',
  package: '@matrixai/async-locks',
  note: 'RWLockWriter, which prefers writers.',
  load: () => import('@matrixai/async-locks'),
  rwLock: {
    create: ({ RWLockWriter }) => new RWLockWriter(),
    read: (lock) => lock.read()(),
    endRead: (_, [release]) => void release(),
    write: (lock) => lock.write()(),
    endWrite: (_, [release]) => void release(),
  },
});
