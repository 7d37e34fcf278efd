import { defineSubject } from '../subject.js';

type Release = () => void;

export default defineSubject({
  name: 'rwlock',
  role: 'peer',
  package: 'rwlock',
  note: 'Its callbacks are converted to promises.',
  load: () => import('rwlock'),
  rwLock: {
    create: ({ default: Lock }) => new Lock(),
    read: (lock) => new Promise<Release>((resolve) => lock.readLock(resolve)),
    endRead: (_, release) => release(),
    write: (lock) => new Promise<Release>((resolve) => lock.writeLock(resolve)),
    endWrite: (_, release) => release(),
  },
});
