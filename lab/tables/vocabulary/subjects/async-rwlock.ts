import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'async-rwlock',
  role: 'peer',
  package: 'async-rwlock',
  load: () => import('async-rwlock'),
  rwLock: {
    create: ({ RWLock }) => new RWLock(),
    read: (lock) => lock.readLock(),
    endRead: (lock) => lock.unlock(),
    write: (lock) => lock.writeLock(),
    endWrite: (lock) => lock.unlock(),
  },
});
