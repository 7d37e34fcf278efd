/** Each unhandled rejection is reported once, with its reason; a handled one is not reported. */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  Broadcast,
  Channel,
  ClosedError,
  KeyedMutex,
  Mutex,
  Semaphore,
  TimeoutError,
} from '../index.js';
import { type Wait, waits, waitsWith } from './waits.js';

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
  // A timeout of 0 may take a timer, which fires before this one.
  await new Promise((resolve) => setTimeout(resolve, 1));
  await nextMacrotask();
  await nextMacrotask();
  return reported.map(({ reason }) => reason);
}

interface Rejection {
  readonly promise: Promise<unknown>;
  readonly reason: unknown;
}

/** The ways in which any wait can be rejected. */
const endings: [string, (wait: Wait) => Rejection][] = [
  [
    'invalid options',
    ({ start }) => ({ promise: start({ timeout: -1 }), reason: expect.any(RangeError) }),
  ],
  [
    'a signal that has aborted',
    ({ start }) => ({
      promise: start({ signal: AbortSignal.abort('aborted') }),
      reason: 'aborted',
    }),
  ],
  [
    'an abort',
    ({ start }) => {
      const controller = new AbortController();
      const promise = start({ signal: controller.signal });
      controller.abort('aborted');
      return { promise, reason: 'aborted' };
    },
  ],
  [
    'a timeout of 0',
    ({ start }) => ({ promise: start({ timeout: 0 }), reason: expect.any(TimeoutError) }),
  ],
];

async function expectOneReport({ promise, reason }: Rejection): Promise<void> {
  expect(await reports()).toEqual([reason]);
  expect(reported[0]?.promise).toBe(promise);
}

async function expectNoReport({ promise, reason }: Rejection): Promise<void> {
  await expect(promise).rejects.toEqual(reason);
  expect(await reports()).toEqual([]);
}

describe.each(Object.entries(waits))('%s', (_, create) => {
  test.each(endings)('%s: reported once if it is not handled', (_, end) =>
    expectOneReport(end(create(1))),
  );

  test.each(endings)('%s: not reported if it is handled', (_, end) =>
    expectNoReport(end(create(1))),
  );
});

describe.each(waitsWith('close'))('%s, a close', (_, create) => {
  function close(): Rejection {
    const { start, close } = create(1);
    const promise = start();
    close('closed');
    return { promise, reason: 'closed' };
  }

  test('reported once if it is not handled', () => expectOneReport(close()));

  test('not reported if it is handled', () => expectNoReport(close()));
});

/** The ways in which an operation of one primitive can be rejected. */
const rejections: [string, () => Rejection][] = [
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
    'a lock that its owner requests again',
    () => {
      const mutex = new Mutex();
      mutex.tryLock({ owner: 'me' });
      return {
        promise: mutex.lock({ owner: 'me' }),
        reason: expect.objectContaining({ owner: 'me' }),
      };
    },
  ],
];

test.each(rejections)('%s: reported once if it is not handled', (_, reject) =>
  expectOneReport(reject()),
);

test.each(rejections)('%s: not reported if it is handled', (_, reject) => expectNoReport(reject()));

test('a timeout: reported once if it is not handled', async () => {
  const semaphore = new Semaphore(1);
  semaphore.tryAcquire();
  void semaphore.acquire({ timeout: 1 });
  expect(await reports()).toEqual([expect.any(TimeoutError)]);
});

test('close: reported once for each waiter that is not handled', async () => {
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
  semaphore.close(new Error('closed'));
  new Semaphore(1).close();
  new KeyedMutex<string>().close(new Error('closed'));
  new Channel(0).close(new Error('closed'));
  new Broadcast(1).close(new Error('closed'));
  expect(await reports()).toEqual([]);
});

test('the end of an iterator that waits: nothing is reported', async () => {
  const iterator = new Channel<number>(0)[Symbol.asyncIterator]();
  void iterator.next();
  await iterator.return?.();
  expect(await reports()).toEqual([]);
});
