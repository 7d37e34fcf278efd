/** The async context, in AsyncLocalStorage and in async stack traces, is that of the waiter. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { Channel, type Permit, Semaphore, type WaitOptions } from '../index.js';
import { waits, waitsWith } from './waits.js';

const storage = new AsyncLocalStorage<number>();
const numbers = Array.from({ length: 50 }, (_, n) => n);

const given: [string, WaitOptions | undefined][] = [
  ['without options', undefined],
  ['with options', { timeout: 60_000 }],
];

/** Starts this in fifty contexts, ends all in another one, and returns the contexts after the waits. */
async function contextsOf(start: () => Promise<unknown>, end: () => unknown): Promise<unknown[]> {
  const see = () => storage.getStore();
  const seen = numbers.map((n) =>
    storage.run(n, async () => {
      const wait = start();
      const inCallback = wait.then(see, see);
      await wait.catch(() => {});
      return [see(), await inCallback];
    }),
  );
  await nextMacrotask();
  storage.run(-1, end);
  return Promise.all(seen);
}

const own = numbers.map((n) => [n, n]);

describe.each(Object.entries(waits))('%s', (_, create) => {
  const make = () => create(numbers.length);

  test.each(given)('after success, %s', async (_, options) => {
    const { start, serve } = make();
    expect(await contextsOf(() => start(options), serve)).toEqual(own);
  });

  test.each(given)('after an abort, %s', async (_, options) => {
    const { start } = make();
    const controller = new AbortController();
    const { signal } = controller;
    const seen = contextsOf(
      () => start({ ...options, signal }),
      () => controller.abort(),
    );
    expect(await seen).toEqual(own);
  });

  test('after a timeout', async () => {
    const { start } = make();
    expect(
      await contextsOf(
        () => start({ timeout: 1 }),
        () => {},
      ),
    ).toEqual(own);
  });
});

describe.each(waitsWith('close'))('%s', (_, create) => {
  test.each(given)('after a close, %s', async (_, options) => {
    const { start, close } = create(numbers.length);
    const seen = contextsOf(
      () => start(options),
      () => close('closed'),
    );
    expect(await seen).toEqual(own);
  });
});

describe.each(given)('of a function that is run, %s', (_, options) => {
  test.each([
    ['at once', () => {}],
    ['asynchronous', () => nextMacrotask()],
  ])('when its turn comes, %s', async (_, pause) => {
    const semaphore = new Semaphore(3);
    const seen: unknown[] = [];
    await Promise.all(
      numbers.map((n) =>
        storage.run(n, () =>
          semaphore.run(async () => {
            await pause();
            seen.push(storage.getStore());
          }, options),
        ),
      ),
    );
    expect(seen).toEqual(numbers);
  });

  test('without waiting', async () => {
    const semaphore = new Semaphore(1);
    const seen: unknown[] = [];
    for (const n of numbers) {
      await storage.run(n, () => semaphore.run(() => seen.push(storage.getStore()), options));
    }
    expect(seen).toEqual(numbers);
  });
});

test('of a loop over a channel', async () => {
  const channel = new Channel<number>(1);
  const seen: unknown[] = [];
  const loops = [0, 1].map((n) =>
    storage.run(n, async () => {
      for await (const _ of channel) seen.push(storage.getStore());
    }),
  );
  await storage.run(-1, () => channel.sendAll([1, 2, 3, 4]));
  channel.close();
  await Promise.all(loops);
  expect(seen).toEqual([0, 1, 0, 1]);
});

describe.each(given)('async stack traces, %s', (_, options) => {
  async function fails(): Promise<never> {
    throw new Error('look at my stack');
  }

  async function outermost(middle: () => Promise<unknown>): Promise<string> {
    try {
      await middle();
    } catch (error) {
      return (error as Error).stack ?? '';
    }
    return 'did not fail';
  }

  /** Holds the permit until another macrotask releases it. */
  function holdForAWhile(semaphore: Semaphore): void {
    const held = semaphore.tryAcquire() as Permit;
    setImmediate(() => held.release());
  }

  test.each(['free', 'taken'])('contain the caller of acquire: %s', async (state) => {
    const semaphore = new Semaphore(1);
    if (state === 'taken') holdForAWhile(semaphore);
    const stack = await outermost(async function acquires() {
      using _permit = await semaphore.acquire(options);
      await fails();
    });
    expect(stack).toMatch(/at fails[\s\S]*acquires[\s\S]*outermost/);
  });

  const moments: [string, () => unknown][] = [
    ['at once', () => {}],
    ['after a while', () => nextMacrotask()],
  ];

  test.each(
    ['free', 'taken'].flatMap((state) =>
      moments.map(([when, wait]) => [state, when, wait] as const),
    ),
  )('contain the caller of run: %s, %s', async (state, _, wait) => {
    const semaphore = new Semaphore(1);
    if (state === 'taken') holdForAWhile(semaphore);
    const stack = await outermost(async function runs() {
      await semaphore.run(async function isRun() {
        const waited = wait();
        if (waited !== undefined) await waited;
        await fails();
      }, options);
    });
    expect(stack).toMatch(/at fails[\s\S]*isRun[\s\S]*runs[\s\S]*outermost/);
  });
});
