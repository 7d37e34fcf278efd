import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@esfx/async-readerwriterlock',
  role: 'peer',
  package: '@esfx/async-readerwriterlock',
  load: () => import('@esfx/async-readerwriterlock'),
  rwLock: {
    create: ({ AsyncReaderWriterLock }) => new AsyncReaderWriterLock(),
    read: (lock) => lock.read(),
    endRead: (_, handle) => void handle.unlock(),
    write: (lock) => lock.write(),
    endWrite: (_, handle) => void handle.unlock(),
  },
});
