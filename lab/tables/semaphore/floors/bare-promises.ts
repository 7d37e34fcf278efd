import { defineSubject } from '../subject.js';

interface Waiter {
  readonly resolve: () => void;
  next: Waiter | undefined;
}

interface Queue {
  first: Waiter | undefined;
  last: Waiter | undefined;
}

/** Promises resolved in turn from a list: the cost of waiting without counting. */
export default defineSubject({
  name: 'bare promises',
  role: 'floor',
  note: 'One native promise per waiter in a linked list, resolved in turn; no semaphore.',
  load: async () => undefined,
  permits: {
    create: (): Queue => ({ first: undefined, last: undefined }),
    acquire: (queue) =>
      // Written inline, where the compiler creates no closure for it: the cheapest known form.
      new Promise<void>((resolve) => {
        const waiter: Waiter = { resolve, next: undefined };
        if (queue.last === undefined) queue.first = waiter;
        else queue.last.next = waiter;
        queue.last = waiter;
      }),
    release: resolveNext,
    open: (queue, limit) => {
      for (let opened = 0; opened < limit; opened++) resolveNext(queue);
    },
  },
});

function resolveNext(queue: Queue): void {
  const waiter = queue.first;
  if (waiter === undefined) return;
  queue.first = waiter.next;
  if (waiter.next === undefined) queue.last = undefined;
  waiter.resolve();
}
