/**
 * No contention: acquire and release in turn, awaited each time, and the same with a synchronous attempt before it if
 * the subject has one.
 */

import { expectCount, type Workload } from '../../../harness/workload.js';
import type { PermitForm, With } from '../subject.js';

// Enough that a batch takes much longer than the resolution of processor time.
const awaitedPairs = 10_000;
const triedPairs = 100_000;

export function uncontended(form: PermitForm, library: unknown): Workload {
  const { create, acquire, release } = form;
  const semaphore = create(library, 1);

  async function batch(): Promise<void> {
    let count = 0;
    for (let pair = 0; pair < awaitedPairs; pair++) {
      const permit = await acquire(semaphore);
      count += 1;
      release(semaphore, permit);
    }
    expectCount('permits had', count, awaitedPairs);
  }

  return { operations: awaitedPairs, batch };
}

export function triedFirst(form: With<PermitForm, 'tryAcquire'>, library: unknown): Workload {
  const { create, acquire, tryAcquire, release } = form;
  const semaphore = create(library, 1);

  async function batch(): Promise<void> {
    let count = 0;
    for (let pair = 0; pair < triedPairs; pair++) {
      const permit = tryAcquire(semaphore) ?? (await acquire(semaphore));
      count += 1;
      release(semaphore, permit);
    }
    expectCount('permits had', count, triedPairs);
  }

  return { operations: triedPairs, batch };
}
