/** Waits that were aborted, however many, leave no place in a queue and no memory. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import { expect, test } from 'vitest';
import { Semaphore } from '../index.js';
import { type Wait, waits } from './waits.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Aborts this many waits, and returns the size of the heap after them. */
async function storm({ start, waiting }: Wait, count: number): Promise<number> {
  for (let n = 0; n < count; n += 1_000) {
    const controllers = Array.from({ length: 10 }, () => new AbortController());
    const settled = Promise.allSettled(
      Array.from({ length: 1_000 }, (_, index) =>
        start({ signal: controllers[index % 10]?.signal }),
      ),
    );
    // A wait at a condition starts when its lock is granted.
    await nextMacrotask();
    for (const controller of controllers) controller.abort('gone');
    await settled;
  }
  expect(waiting?.() ?? 0).toBe(0);
  await nextMacrotask();
  collect();
  return process.memoryUsage().heapUsed;
}

test.each(Object.entries(waits))('%s', { timeout: 60_000 }, async (_, create) => {
  const wait = create(Number.MAX_SAFE_INTEGER - 1);
  await storm(wait, 10_000);
  // A leak shows in every round, what the engine itself allocates does not.
  let growth = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3 && growth > 100_000; round++) {
    const before = await storm(wait, 1_000);
    growth = (await storm(wait, 20_000)) - before;
  }
  // A reference takes eight bytes.
  expect(growth).toBeLessThan(100_000);
});

// If a departure or a release searched the queue, this test would take hours.
test('a queue of 200,000, half of which gives up, is served in linear time', async () => {
  const semaphore = new Semaphore(1);
  const held = await semaphore.acquire();
  const controllers: AbortController[] = [];
  let granted = 0;
  let aborted = 0;
  // Its priority puts all others in front of it.
  const last = semaphore.acquire({ priority: -1 });
  for (let n = 0; n < 200_000; n++) {
    // Every other waiter can leave; ten share a signal.
    if (n % 20 === 0) controllers.push(new AbortController());
    const signal = controllers.at(-1)?.signal;
    void (n % 2 === 0 ? semaphore.acquire() : semaphore.acquire({ signal })).then(
      (permit) => {
        granted += 1;
        permit.release();
      },
      () => {
        aborted += 1;
      },
    );
  }
  for (const controller of controllers.reverse()) controller.abort();
  expect(semaphore.waiting).toBe(100_001);
  held.release();
  (await last).release();
  await semaphore.drain();
  await nextMacrotask();
  expect({ granted, aborted }).toEqual({ granted: 100_000, aborted: 100_000 });
});
