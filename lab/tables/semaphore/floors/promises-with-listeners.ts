import { defineSubject } from '../subject.js';

interface Waiter {
  readonly resolve: () => void;
  gone: boolean;
}

interface Queue {
  readonly waiters: Waiter[];
  next: number;
}

/** An aborted waiter stays in the array and is skipped: the minimum cost of an abort. */
export default defineSubject({
  name: 'promises with listeners',
  role: 'floor',
  note: 'One native promise and one abort listener per waiter, resolved in turn; no semaphore.',
  load: async () => undefined,
  permits: {
    create: (): Queue => ({ waiters: [], next: 0 }),
    acquire: (queue) =>
      new Promise<void>((resolve) => {
        queue.waiters.push({ resolve, gone: false });
      }),
    release: resolveNext,
    acquireWithSignal: (queue, signal) =>
      new Promise<void>((resolve, reject) => {
        const waiter = { resolve, gone: false };
        queue.waiters.push(waiter);
        signal.addEventListener('abort', () => {
          waiter.gone = true;
          reject(signal.reason);
        });
      }),
    open: resolveNext,
  },
});

function resolveNext(queue: Queue): void {
  for (;;) {
    const waiter = queue.waiters[queue.next++];
    if (waiter === undefined) {
      queue.waiters.length = 0;
      queue.next = 0;
      return;
    }
    if (!waiter.gone) {
      waiter.resolve();
      return;
    }
  }
}
