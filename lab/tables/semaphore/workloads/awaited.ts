/**
 * The document's loop with `await` instead of `.then`: a fresh semaphore of 1 and 5,000 waiters, each of which counts
 * itself and releases at once.
 */

import { expectCount, type Workload } from '../../../harness/workload.js';
import type { PermitForm } from '../subject.js';

const waiters = 5_000;

export function documentAwaited(form: PermitForm, library: unknown): Workload {
  const { create, acquire, release, open } = form;
  let count = 0;

  async function waiter(semaphore: unknown): Promise<void> {
    const permit = await acquire(semaphore);
    count += 1;
    release(semaphore, permit);
  }

  async function batch(): Promise<void> {
    count = 0;
    const semaphore = create(library, 1);
    let last: Promise<void> | undefined;
    for (let issued = 0; issued < waiters; issued++) last = waiter(semaphore);
    open?.(semaphore, 1);
    await last;
    expectCount('waiters granted', count, waiters);
  }

  return { operations: waiters, batch };
}
