/** The async context, AsyncLocalStorage and async stack traces, is that of whoever waited. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { KeyedMutex, Mutex, type Permit, Semaphore } from '../index.js';

const storage = new AsyncLocalStorage<number>();
const numbers = Array.from({ length: 50 }, (_, n) => n);

/** Starts this in fifty contexts, and tells which context each of them saw. */
async function contextsOf(start: (saw: () => void) => Promise<unknown>): Promise<unknown[]> {
  const seen: unknown[] = numbers.map(() => 'nothing');
  await Promise.all(
    numbers.map((n) =>
      storage.run(n, () =>
        start(() => {
          seen[n] = storage.getStore();
        }),
      ),
    ),
  );
  return seen;
}

const given: [string, object | undefined][] = [
  ['without options', undefined],
  ['with options', { timeout: 60_000 }],
];

describe.each(given)('AsyncLocalStorage, %s', (_, options) => {
  test('after await', async () => {
    const semaphore = new Semaphore(1);
    const seen = await contextsOf(async (saw) => {
      using _permit = await semaphore.acquire(options);
      saw();
    });
    expect(seen).toEqual(numbers);
  });

  test('in the callback of then', async () => {
    const semaphore = new Semaphore(1);
    const seen = await contextsOf((saw) =>
      semaphore.acquire(options).then((permit) => {
        saw();
        permit.release();
      }),
    );
    expect(seen).toEqual(numbers);
  });

  test('in the callback of then, released by somebody with another context', async () => {
    const semaphore = new Semaphore(10);
    const held = await semaphore.acquire({ permits: 10 });
    const seen = contextsOf((saw) =>
      semaphore.acquire(options).then((permit) => {
        saw();
        permit.release();
      }),
    );
    storage.run(-1, () => held.release());
    expect(await seen).toEqual(numbers);
  });

  test('in a function that is run when its turn comes', async () => {
    const semaphore = new Semaphore(1);
    const seen = await contextsOf((saw) => semaphore.run(saw, options));
    expect(seen).toEqual(numbers);
  });

  test('in an async function that is run when its turn comes', async () => {
    const semaphore = new Semaphore(3);
    const seen = await contextsOf((saw) =>
      semaphore.run(async () => {
        await nextMacrotask();
        saw();
      }, options),
    );
    expect(seen).toEqual(numbers);
  });

  test('after a run, whether it waited or not', async () => {
    const semaphore = new Semaphore(1);
    const seen = await contextsOf((saw) => semaphore.run(() => {}, options).then(saw));
    expect(seen).toEqual(numbers);
  });

  test('in functions that are run one after the other', async () => {
    const semaphore = new Semaphore(1);
    const seen: unknown[] = [];
    for (const n of numbers) {
      await storage.run(n, () => semaphore.run(() => seen.push(storage.getStore()), options));
    }
    expect(seen).toEqual(numbers);
  });

  test('of the locks of a mutex and of keys', async () => {
    const mutex = new Mutex();
    expect(await contextsOf((saw) => mutex.run(saw, options))).toEqual(numbers);
    const keyed = new KeyedMutex<string>();
    const seen = contextsOf(async (saw) => {
      using _lock = await keyed.lock('key', options);
      saw();
    });
    expect(await seen).toEqual(numbers);
  });

  test('after a wait that was given up or closed', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const controllers = numbers.map(() => new AbortController());
    let index = 0;
    const aborted = contextsOf((saw) =>
      semaphore.acquire({ ...options, signal: controllers[index++]?.signal }).catch(saw),
    );
    storage.run(-1, () => {
      for (const controller of controllers) controller.abort();
    });
    expect(await aborted).toEqual(numbers);
    const closed = contextsOf((saw) => semaphore.acquire(options).catch(saw));
    storage.run(-1, () => semaphore.close());
    expect(await closed).toEqual(numbers);
  });

  test('after a drain', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const seen = contextsOf((saw) => semaphore.drain(options).then(saw));
    storage.run(-1, () => held.release());
    expect(await seen).toEqual(numbers);
  });

  test('after a timeout', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    expect(await contextsOf((saw) => semaphore.acquire({ timeout: 1 }).catch(saw))).toEqual(
      numbers,
    );
  });
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

  /** In the queue behind somebody who releases from elsewhere. */
  function behindAnother(semaphore: Semaphore): void {
    const held = semaphore.tryAcquire() as Permit;
    setImmediate(() => held.release());
  }

  test.each(['free', 'taken'])('contain who acquired: %s', async (state) => {
    const semaphore = new Semaphore(1);
    if (state === 'taken') behindAnother(semaphore);
    const stack = await outermost(async function whoAcquires() {
      using _permit = await semaphore.acquire(options);
      await fails();
    });
    expect(stack).toMatch(/at fails[\s\S]*whoAcquires[\s\S]*outermost/);
  });

  const moments: [string, () => unknown][] = [
    ['at once', () => {}],
    ['after a while', () => nextMacrotask()],
  ];

  test.each(
    ['free', 'taken'].flatMap((state) =>
      moments.map(([when, wait]) => [state, when, wait] as const),
    ),
  )('contain who runs what fails: %s, %s', async (state, _, wait) => {
    const semaphore = new Semaphore(1);
    if (state === 'taken') behindAnother(semaphore);
    const stack = await outermost(async function whoRuns() {
      await semaphore.run(async function whatIsRun() {
        const waited = wait();
        if (waited !== undefined) await waited;
        await fails();
      }, options);
    });
    expect(stack).toMatch(/at fails[\s\S]*whatIsRun[\s\S]*whoRuns[\s\S]*outermost/);
  });
});
