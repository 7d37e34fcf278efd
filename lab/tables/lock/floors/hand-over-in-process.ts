import { defineSubject } from '../subject.js';
import { Queue } from './queue.js';

export default defineSubject({
  name: 'handed over in the process',
  role: 'floor',
  note: 'A queue of promises in one process; the server is never asked. What the turns themselves cost.',
  async connect() {
    const queue = new Queue();
    return {
      lock: () => queue.enter(),
      unlock: async () => queue.leave(),
      close: async () => {},
    };
  },
});
