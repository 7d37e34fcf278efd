/**
 * workerd reports a rejection as soon as it has no handler, before a microtask could add one. A wait that is given up
 * must not pass its reason through a promise that is rejected first and handled later.
 */
import { expect, test } from 'vitest';
import { Semaphore } from '../index.js';
import { waits, waitsWith } from './waits.js';

/** Runs this, and returns the reasons that were reported as unhandled. */
async function reportedBy(run: () => Promise<unknown>): Promise<unknown[]> {
  const reported: unknown[] = [];
  const report = (event: PromiseRejectionEvent) => reported.push(event.reason);
  globalThis.addEventListener('unhandledrejection', report);
  await run();
  await new Promise((resolve) => setTimeout(resolve, 1));
  globalThis.removeEventListener('unhandledrejection', report);
  return reported;
}

const handle = (promise: Promise<unknown>) => promise.then(undefined, (error) => error);

test.each(Object.entries(waits))('%s: a handled rejection is not reported', async (_, create) => {
  const reported = await reportedBy(async () => {
    for (const timeout of [0, 1]) await handle(create(1).start({ timeout }));
    const controller = new AbortController();
    const aborted = handle(create(1).start({ signal: controller.signal }));
    controller.abort();
    await aborted;
  });
  expect(reported).toEqual([]);
});

test.each(waitsWith('close'))('%s: a handled close is not reported', async (_, create) => {
  const reported = await reportedBy(async () => {
    const { start, close } = create(2);
    const closed = [start(), start({ timeout: 60_000 })].map(handle);
    close('closed');
    await Promise.all(closed);
  });
  expect(reported).toEqual([]);
});

test('a limit that was lowered: a handled rejection is not reported', async () => {
  const reported = await reportedBy(async () => {
    const semaphore = new Semaphore(2);
    semaphore.tryAcquire();
    const waiter = handle(semaphore.acquire({ permits: 2 }));
    semaphore.limit = 1;
    await waiter;
  });
  expect(reported).toEqual([]);
});
