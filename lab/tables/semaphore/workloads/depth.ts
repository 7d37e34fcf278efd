/**
 * A short queue behind one holder: all wait, the holder releases, and the permit passes down the queue. The queue is
 * filled many times within a batch.
 */

import { expectCount, type Workload } from '../../../harness/workload.js';
import type { PermitForm } from '../subject.js';

const waiters = 10;
const queues = 500;

export function queueOfTen(form: PermitForm, library: unknown): Workload {
  const { create, acquire, release, open } = form;
  const semaphore = create(library, 1);
  let count = 0;

  async function waiter(): Promise<void> {
    const permit = await acquire(semaphore);
    count += 1;
    release(semaphore, permit);
  }

  async function batch(): Promise<void> {
    count = 0;
    for (let filled = 0; filled < queues; filled++) {
      const holding = acquire(semaphore);
      open?.(semaphore, 1);
      const permit = await holding;
      let last: Promise<void> | undefined;
      for (let queued = 0; queued < waiters; queued++) last = waiter();
      release(semaphore, permit);
      await last;
    }
    expectCount('waiters granted', count, queues * waiters);
  }

  return { operations: queues * (waiters + 1), batch };
}
