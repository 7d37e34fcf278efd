import { setImmediate as eventLoop } from 'node:timers/promises';
import { defineSubject } from '../subject.js';
import { Queue } from './queue.js';

/** Turns before the event loop gets its own. */
const burst = 64;

export default defineSubject({
  name: 'handed over in the process',
  role: 'floor',
  note: 'A queue of promises in one process; the server is never asked. What the turns themselves cost.',
  async connect() {
    const queue = new Queue();
    let turns = 0;
    return {
      lock: () => queue.enter(),
      async unlock() {
        // Promises alone never let the event loop run, which has to hear that the time is over.
        if (++turns % burst === 0) await eventLoop();
        queue.leave();
      },
      close: async () => {},
    };
  },
});
