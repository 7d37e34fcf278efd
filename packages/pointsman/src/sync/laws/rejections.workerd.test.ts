/**
 * workerd reports a rejection as soon as nobody handles it, before a microtask could. So a wait that
 * is given up must not pass its reason through a promise that is rejected first and handled later.
 */
import { expect, test } from 'vitest';
import { Semaphore } from '../index.js';

function taken(): Semaphore {
  const semaphore = new Semaphore(1);
  semaphore.tryAcquire();
  return semaphore;
}

const handle = (promise: Promise<unknown>) => promise.then(undefined, (error) => error);

test.each<[string, () => Promise<unknown>]>([
  ['a timeout', () => handle(taken().acquire({ timeout: 1 }))],
  ['a timeout of 0', () => handle(taken().acquire({ timeout: 0 }))],
  ['a timeout of drain', () => handle(taken().drain({ timeout: 1 }))],
  ['a timeout of run', () => handle(taken().run(() => {}, { timeout: 1 }))],
  [
    'an abort',
    () => {
      const controller = new AbortController();
      const waiter = handle(taken().acquire({ signal: controller.signal }));
      controller.abort();
      return waiter;
    },
  ],
  [
    'a close',
    () => {
      const semaphore = taken();
      const waiters = [semaphore.acquire(), semaphore.acquire({ priority: 1 })].map(handle);
      semaphore.close();
      return Promise.all(waiters);
    },
  ],
  [
    'a limit that was lowered',
    () => {
      const semaphore = new Semaphore(2);
      semaphore.tryAcquire();
      const waiter = handle(semaphore.acquire({ permits: 2 }));
      semaphore.limit = 1;
      return waiter;
    },
  ],
])('%s that somebody handles is not reported', async (_, start) => {
  const reported: unknown[] = [];
  const report = (event: PromiseRejectionEvent) => reported.push(event.reason);
  globalThis.addEventListener('unhandledrejection', report);
  await start();
  await new Promise((resolve) => setTimeout(resolve, 1));
  globalThis.removeEventListener('unhandledrejection', report);
  expect(reported).toEqual([]);
});
