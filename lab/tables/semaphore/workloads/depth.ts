/**
 * A queue of a given length behind one holder: all wait, the holder releases, and the permit passes down the queue.
 * Short queues are filled several times within a batch.
 */

import { expectCount, type Workload } from '../../../harness/workload.js';
import type { PermitForm } from '../subject.js';

const acquiresPerBatch = 5_000;

export function queueOf(waiters: number) {
  return ({ create, acquire, release, open }: PermitForm, library: unknown): Workload => {
    const semaphore = create(library, 1);
    const queues = Math.max(1, Math.floor(acquiresPerBatch / waiters));
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
  };
}
