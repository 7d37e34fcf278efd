/**
 * The memory of a queued waiter: the growth of the heap by 10,000 promises of `acquire` that wait behind one holder,
 * divided by their number. The array that keeps the promises is allocated before.
 */
import { heapInUse } from '../../../harness/heap.js';
import type { MeasuredCell } from '../../../harness/table.js';
import { expectCount } from '../../../harness/workload.js';
import barePromises from '../floors/bare-promises.js';
import type { PermitForm } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';

const waiters = 10_000;

export const memoryCell: MeasuredCell = {
  id: 'memory',
  subjects: subjects
    .filter((subject) => subject === barePromises || (subject.role !== 'floor' && subject.permits))
    .map(({ name }) => name),
  whole: 'a heap is measured at rest, after all garbage is collected',
  expectedMilliseconds: 1_000,
  async measure(name) {
    const { permits, load } = subjectNamed(name);
    if (permits === undefined) throw new Error(`cell memory: ${name} has no permits`);
    const library = await load();
    // Compiles the code, and allocates what the engine keeps.
    await bytesPerWaiter(permits, library);
    const samples: number[] = [];
    while (samples.length < 3) samples.push(await bytesPerWaiter(permits, library));
    return { ok: true, samples: { bytesPerWaiter: samples } };
  },
};

async function bytesPerWaiter(form: PermitForm, library: unknown): Promise<number> {
  const { create, acquire, release, open } = form;
  const semaphore = create(library, 1);
  const holding = acquire(semaphore);
  open?.(semaphore, 1);
  const permit = await holding;
  const queued = new Array<Promise<unknown>>(waiters);
  const before = await heapInUse();
  for (let index = 0; index < waiters; index++) queued[index] = acquire(semaphore);
  const bytes = (await heapInUse()) - before;

  let granted = 0;
  release(semaphore, permit);
  for (const waiter of queued) {
    release(semaphore, await waiter);
    granted += 1;
  }
  expectCount('waiters granted', granted, waiters);
  return bytes / waiters;
}
