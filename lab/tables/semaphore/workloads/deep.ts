/**
 * One queue of 100,000 behind one holder.
 *
 * A queue whose cost grows with its length takes seconds or minutes for it, in one run of microtasks that no timer can
 * interrupt. Therefore the waiters themselves check the processor time used, and stop the batch once its pace is too
 * slow to finish within the limit.
 */
import { usedMicroseconds } from '../../../harness/sample.js';
import { expectCount, type Workload } from '../../../harness/workload.js';
import type { PermitForm } from '../subject.js';

const waiters = 100_000;
const between = 1_024;
const limitSeconds = 2;
/** The time that a slow start or a garbage collection may take before the pace counts. */
const graceSeconds = 0.3;

export function deepQueue(form: PermitForm, library: unknown): Workload {
  const { create, acquire, release, open } = form;
  const semaphore = create(library, 1);
  let count = 0;
  let usedBefore = usedMicroseconds();
  let stop: (reason: Error) => void;

  function tooSlow(done: number, what: string): Error | undefined {
    if (done % between !== 0) return undefined;
    const seconds = (usedMicroseconds() - usedBefore) / 1e6;
    if (seconds <= graceSeconds + (limitSeconds * done) / waiters) return undefined;
    const soFar = `${done} of ${waiters} ${what} after ${seconds.toFixed(1)} s`;
    return new Error(`would take longer than ${limitSeconds} s: ${soFar}`);
  }

  async function waiter(): Promise<void> {
    const permit = await acquire(semaphore);
    count += 1;
    const reason = tooSlow(count, 'waiters granted');
    if (reason) stop(reason);
    else release(semaphore, permit);
  }

  async function fillAndEmpty(): Promise<void> {
    count = 0;
    const holding = acquire(semaphore);
    open?.(semaphore, 1);
    const permit = await holding;
    let last: Promise<void> | undefined;
    usedBefore = usedMicroseconds();
    for (let queued = 0; queued < waiters; queued++) {
      const reason = tooSlow(queued, 'waiters queued');
      if (reason) throw reason;
      last = waiter();
    }
    usedBefore = usedMicroseconds();
    release(semaphore, permit);
    await last;
    expectCount('waiters granted', count, waiters);
  }

  async function batch(): Promise<void> {
    const stopped = new Promise<never>((_, reject) => {
      stop = reject;
    });
    await Promise.race([fillAndEmpty(), stopped]);
  }

  return { operations: waiters + 1, batch };
}
