import { defineSubject, type Work } from '../subject.js';

interface ReadWriteLock {
  createLock(): { read(work: Work): Promise<void>; write(work: Work): Promise<void> };
}

export default defineSubject({
  name: '@eight04/read-write-lock',
  role: 'peer',
  package: '@eight04/read-write-lock',
  note: 'Runs a function under the lock.',
  // It has no types.
  load: (): Promise<ReadWriteLock> => import('@eight04/read-write-lock' as string),
  rwLockRun: {
    create: ({ createLock }) => createLock(),
    runRead: (lock, work) => lock.read(work),
    runWrite: (lock, work) => lock.write(work),
  },
});
