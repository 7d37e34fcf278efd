import { defineSubject } from '../subject.js';

const entered = true;
const resolved = Promise.resolve(entered);

export default defineSubject({
  name: 'bare counter',
  role: 'floor',
  note: 'A number counted down and up; no semaphore.',
  load: async () => undefined,
  permits: {
    create: (_, limit) => ({ free: limit }),
    acquire: () => resolved,
    release: (counter) => {
      counter.free += 1;
    },
    tryAcquire: (counter) => {
      counter.free -= 1;
      return entered;
    },
  },
});
