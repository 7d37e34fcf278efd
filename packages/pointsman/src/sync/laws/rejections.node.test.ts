/** Each rejection that nobody handles is reported once, as the error it is, and no other is. */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ClosedError, KeyedMutex, Mutex, Semaphore, TimeoutError } from '../index.js';

const event = 'unhandledRejection';
let reported: { reason: unknown; promise: Promise<unknown> }[];
let listeners: NodeJS.UnhandledRejectionListener[];

// The test runner's own listener would fail the run.
beforeEach(() => {
  reported = [];
  listeners = process.listeners(event);
  process.removeAllListeners(event);
  process.on(event, (reason, promise) => reported.push({ reason, promise }));
});

afterEach(() => {
  process.removeAllListeners(event);
  for (const listener of listeners) process.on(event, listener);
});

async function reports(): Promise<unknown[]> {
  await nextMacrotask();
  await nextMacrotask();
  return reported.map(({ reason }) => reason);
}

/** Each way to be rejected, with and without a queue. */
const rejections: [string, () => { promise: Promise<unknown>; reason: unknown }][] = [
  [
    'bad input',
    () => {
      const promise = new Semaphore(1).acquire({ permits: 2 });
      return { promise, reason: expect.any(RangeError) };
    },
  ],
  [
    'a signal that has aborted',
    () => {
      const promise = new Semaphore(1).acquire({ signal: AbortSignal.abort('aborted') });
      return { promise, reason: 'aborted' };
    },
  ],
  [
    'an abort',
    () => {
      const semaphore = new Semaphore(1);
      semaphore.tryAcquire();
      const controller = new AbortController();
      const promise = semaphore.acquire({ signal: controller.signal });
      controller.abort('aborted');
      return { promise, reason: 'aborted' };
    },
  ],
  [
    'a timeout of 0',
    () => {
      const semaphore = new Semaphore(1);
      semaphore.tryAcquire();
      return { promise: semaphore.acquire({ timeout: 0 }), reason: expect.any(TimeoutError) };
    },
  ],
  [
    'a close',
    () => {
      const semaphore = new Semaphore(1);
      semaphore.tryAcquire();
      const promise = semaphore.acquire();
      semaphore.close('closed');
      return { promise, reason: 'closed' };
    },
  ],
  [
    'what is closed',
    () => {
      const semaphore = new Semaphore(1);
      semaphore.close('closed');
      return { promise: semaphore.acquire(), reason: 'closed' };
    },
  ],
  [
    'a limit that was lowered',
    () => {
      const semaphore = new Semaphore(2);
      semaphore.tryAcquire();
      const promise = semaphore.acquire({ permits: 2 });
      semaphore.limit = 1;
      return { promise, reason: expect.any(RangeError) };
    },
  ],
  [
    'a function that throws',
    () => {
      const promise = new Semaphore(1).run(() => {
        throw 'thrown';
      });
      return { promise, reason: 'thrown' };
    },
  ],
  [
    'a function that rejects',
    () => ({
      promise: new Semaphore(1).run(() => Promise.reject('rejected')),
      reason: 'rejected',
    }),
  ],
  [
    'a function that rejects when its turn comes',
    () => {
      const semaphore = new Semaphore(1);
      const held = semaphore.tryAcquire();
      const promise = semaphore.run(() => Promise.reject('rejected'));
      held?.release();
      return { promise, reason: 'rejected' };
    },
  ],
  [
    'a run that is refused',
    () => {
      const semaphore = new Semaphore(1);
      semaphore.close('closed');
      return { promise: semaphore.run(() => {}), reason: 'closed' };
    },
  ],
  [
    'a lock asked for again',
    () => {
      const mutex = new Mutex();
      mutex.tryLock({ owner: 'me' });
      return {
        promise: mutex.lock({ owner: 'me' }),
        reason: expect.objectContaining({ owner: 'me' }),
      };
    },
  ],
  [
    'a key that is refused',
    () => {
      const keyed = new KeyedMutex<string>();
      keyed.close('closed');
      return { promise: keyed.lock('key'), reason: 'closed' };
    },
  ],
  [
    'a drain that was given up',
    () => {
      const semaphore = new Semaphore(1);
      semaphore.tryAcquire();
      return { promise: semaphore.drain({ timeout: 0 }), reason: expect.any(TimeoutError) };
    },
  ],
];

test.each(rejections)('%s: reported once if nobody handles it', async (_, reject) => {
  const { promise, reason } = reject();
  expect(await reports()).toEqual([reason]);
  expect(reported[0]?.promise).toBe(promise);
});

test.each(rejections)('%s: not reported if somebody handles it', async (_, reject) => {
  const { promise, reason } = reject();
  const caught: unknown[] = [];
  promise.catch((error) => caught.push(error));
  expect(await reports()).toEqual([]);
  expect(caught).toEqual([reason]);
});

test('a timeout: reported once if nobody handles it', async () => {
  const semaphore = new Semaphore(1);
  semaphore.tryAcquire();
  void semaphore.acquire({ timeout: 1 });
  // Armed after the first, with the same delay: it fires after it.
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(await reports()).toEqual([expect.any(TimeoutError)]);
});

test('close: reported for those waiters that nobody handles, and once for each', async () => {
  const semaphore = new Semaphore(1);
  semaphore.tryAcquire();
  const handled = [semaphore.acquire(), semaphore.acquire({}), semaphore.run(() => {})];
  const caught = Promise.allSettled(handled);
  void semaphore.acquire();
  void semaphore.acquire({ timeout: 60_000 });
  semaphore.close();
  expect(await reports()).toEqual([expect.any(ClosedError), expect.any(ClosedError)]);
  expect(await caught).toHaveLength(3);
});

test('close without waiters: nothing is reported', async () => {
  const semaphore = new Semaphore(1);
  semaphore.tryAcquire();
  semaphore.close(new Error('nobody was there'));
  new Semaphore(1).close();
  new KeyedMutex<string>().close(new Error('nobody was there'));
  expect(await reports()).toEqual([]);
});
