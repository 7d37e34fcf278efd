/** The queue in crowds: priorities of all kinds, those who leave in any number, a bound, and names in errors. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import {
  KeyedMutex,
  KeyedSemaphore,
  Mutex,
  type Permit,
  QueueFullError,
  Semaphore,
} from '../index.js';

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Who waits with which priority; `leaves` says who gives up before the first is served. */
async function orderOf(
  priorities: readonly number[],
  leaves: (n: number) => boolean = () => false,
): Promise<number[]> {
  const semaphore = new Semaphore(1);
  const held = await semaphore.acquire();
  const granted: number[] = [];
  const controllers = new Map<number, AbortController>();
  for (const [n, priority] of priorities.entries()) {
    const options: { priority?: number; signal?: AbortSignal } = priority === 0 ? {} : { priority };
    if (leaves(n)) {
      const controller = new AbortController();
      controllers.set(n, controller);
      options.signal = controller.signal;
    }
    const wait = semaphore.acquire(Object.keys(options).length > 0 ? options : undefined);
    wait.then(
      (permit) => {
        granted.push(n);
        permit.release();
      },
      () => {},
    );
  }
  for (const controller of controllers.values()) controller.abort();
  expect(semaphore.waiting).toBe(priorities.length - controllers.size);
  held.release();
  await nextMacrotask();
  expect(semaphore.idle).toBe(true);
  return granted;
}

/** The same by a sort, which keeps the order of equals. */
const sorted = (priorities: readonly number[], leaves: (n: number) => boolean = () => false) =>
  [...priorities.entries()]
    .filter(([n]) => !leaves(n))
    .sort(([, one], [, other]) => other - one)
    .map(([n]) => n);

describe('priorities', () => {
  // A walk past those of another priority takes seconds for each of these.
  test('a crowd at 0 comes behind a crowd at -1', async () => {
    const priorities = Array.from({ length: 40_000 }, (_, n) => (n < 20_000 ? -1 : 0));
    expect(await orderOf(priorities)).toEqual(sorted(priorities));
  });

  test.each([
    ['few', (n: number) => n % 5],
    ['as many as there are waiters', (n: number) => n + 1 / 3],
  ])('%s, in random order', async (_, of) => {
    const random = numbers(1);
    const priorities = Array.from({ length: 30_000 }, () => of(random(30_000) - 15_000));
    expect(await orderOf(priorities)).toEqual(sorted(priorities));
  });

  test.each([1, 2, 3, 4, 5])('anybody may leave, at any place (%d)', async (seed) => {
    const random = numbers(seed);
    const priorities = Array.from({ length: 1_000 }, () => random(9) - 4);
    const leavers = new Set(priorities.map((_, n) => n).filter(() => random(3) > 0));
    const leaves = (n: number) => leavers.has(n);
    expect(await orderOf(priorities, leaves)).toEqual(sorted(priorities, leaves));
  });
});

describe('a line', () => {
  test.each([15, 16, 17, 31, 32, 33, 100])('of %d, any stretch of which leaves', async (length) => {
    const line: number[] = new Array(length).fill(0);
    for (const stretch of [1, 7, 15, 16, 17, 48]) {
      for (let from = 0; from < length; from += 5) {
        const leaves = (n: number) => n >= from && n < from + stretch;
        expect(await orderOf(line, leaves)).toEqual(sorted(line, leaves));
      }
    }
  });

  test('is filled again and again behind one who stays', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const stays = semaphore.acquire();
    for (let round = 0; round < 100; round++) {
      const controller = new AbortController();
      const { signal } = controller;
      const waits = Array.from({ length: 1 + (round % 40) }, () => semaphore.acquire({ signal }));
      controller.abort('gone');
      await Promise.allSettled(waits);
      expect(semaphore.waiting).toBe(1);
    }
    const last = semaphore.acquire();
    held.release();
    (await stays).release();
    (await last).release();
    expect(semaphore.idle).toBe(true);
  });
});

describe('maxWaiting', () => {
  test.each([undefined, {}, { timeout: 1_000 }, { priority: 1 }])(
    'refuses at once who would have to wait beyond it (%o)',
    async (options) => {
      const semaphore = new Semaphore(1, { maxWaiting: 2 });
      const held = await semaphore.acquire(options);
      const waits = [semaphore.acquire(options), semaphore.run(() => 'run', options)];
      for (const refused of [
        semaphore.acquire(options),
        semaphore.run(() => 'never', options),
        semaphore.waitForPermit(options),
      ]) {
        await expect(refused).rejects.toThrow(QueueFullError);
      }
      await expect(semaphore.acquire({ timeout: 0 })).rejects.toThrow('timed out after 0 ms');
      expect(semaphore.waiting).toBe(2);
      expect(semaphore.tryAcquire()).toBeUndefined();
      const drained = semaphore.drain();
      held.release();
      expect(semaphore.waiting).toBe(1);
      void semaphore.acquire(options).then((permit) => permit.release());
      (await (waits[0] as Promise<Permit>)).release();
      expect(await waits[1]).toBe('run');
      await drained;
    },
  );

  test('of 0 lets nobody wait', async () => {
    const mutex = new Mutex({ maxWaiting: 0 });
    const lock = await mutex.lock();
    await expect(mutex.lock()).rejects.toThrow('the queue is full: 0 may wait');
    lock.release();
    expect(await mutex.run(() => 'free')).toBe('free');
  });

  test('counts for each key', async () => {
    const keyed = new KeyedMutex<string>({ maxWaiting: 1 });
    const held = [await keyed.lock('a'), await keyed.lock('b')];
    const waits = [keyed.lock('a'), keyed.lock('b')];
    await expect(keyed.lock('a')).rejects.toThrow(QueueFullError);
    for (const lock of held) lock.release();
    for (const lock of await Promise.all(waits)) lock.release();
    expect(keyed.keyCount).toBe(0);
  });
});

test('a name begins the messages of errors; a key follows it', async () => {
  const messages: string[] = [];
  const refused = async (wait: Promise<unknown>) =>
    messages.push(((await wait.catch((error) => error)) as Error).message);
  const semaphore = new Semaphore(1, { name: 'connections', maxWaiting: 1 });
  const mutex = new Mutex({ name: 'file' });
  const limited = new KeyedSemaphore<string>(1, { name: 'hosts', maxWaiting: 0 });
  const keyed = new KeyedMutex<number>({ name: 'rows' });
  const held = [
    await semaphore.acquire(),
    await mutex.lock({ owner: 'me' }),
    await limited.acquire('a.example'),
    await keyed.lock(7),
  ];
  await refused(semaphore.acquire({ timeout: 1 }));
  await refused(semaphore.drain({ timeout: 0 }));
  const cancelled = refused(semaphore.acquire());
  await refused(semaphore.acquire());
  semaphore.cancel();
  await cancelled;
  await refused(mutex.lock({ owner: 'me' }));
  mutex.close();
  await refused(mutex.lock());
  await refused(limited.run('a.example', () => {}));
  await refused(keyed.lock(7, { timeout: 0 }));
  await refused(keyed.drain({ timeout: 0 }));
  keyed.close();
  await refused(keyed.lock(8));
  const pair = new Semaphore(2, { name: 'pair' });
  held.push(await pair.acquire());
  const both = refused(pair.acquire({ permits: 2 }));
  pair.limit = 1;
  await both;
  await refused(new Semaphore(0, { name: '' }).acquire({ timeout: 0 }));
  for (const permit of held) permit.release();
  expect(messages).toEqual([
    'connections: timed out after 1 ms',
    'connections: timed out after 0 ms: 1 active, 0 waiting',
    'connections: the queue is full: 1 may wait',
    'connections: the wait was cancelled',
    'file: owner "me" holds the lock already',
    'file: the primitive is closed',
    'hosts "a.example": the queue is full: 0 may wait',
    'rows 7: timed out after 0 ms',
    'rows: timed out after 0 ms: 1 active, 0 waiting',
    'rows: the primitive is closed',
    'pair: permits must be at most 1, got 2',
    'timed out after 0 ms',
  ]);
});
