import { setImmediate as eventLoop } from 'node:timers/promises';
import { defineSubject } from '../subject.js';
import { Queue } from './queue.js';

/** Turns between two returns to the event loop. */
const burst = 64;

export default defineSubject({
  name: 'handed over in the process',
  role: 'floor',
  note: 'A queue of promises in one process, without a server: the cost of the turns themselves.',
  async connect() {
    const queue = new Queue();
    let turns = 0;
    return {
      lock: () => queue.enter(),
      async unlock() {
        // Promises alone never return to the event loop, which has to notice the end of the measurement.
        if (++turns % burst === 0) await eventLoop();
        queue.leave();
      },
      close: async () => {},
    };
  },
});
