/**
 * Defects that were reproduced in other libraries for the same purpose. Each test does what goes
 * wrong there; the comment says what happens.
 */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { dispose } from '../dispose.js';
import {
  ClosedError,
  KeyedMutex,
  KeyedSemaphore,
  Mutex,
  type Permit,
  Semaphore,
  TimeoutError,
} from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

// The key is dropped at the first release, though its semaphore is still in somebody's hands; the
// next who asks for the key gets a second semaphore, and both are inside.
test('a key that falls out of use while somebody is about to use it has never two holders', async () => {
  const keyed = new KeyedSemaphore<string>(1);
  let inside = 0;
  let most = 0;
  const work = async () => {
    using _permit = await keyed.acquire('key');
    inside += 1;
    most = Math.max(most, inside);
    await nextMacrotask();
    inside -= 1;
  };
  const first = work();
  const second = work();
  await first;
  // The key was idle for no moment: the second holds it now.
  const third = work();
  const fourth = keyed.run('key', () => inside);
  await Promise.all([second, third]);
  expect(await fourth).toBe(0);
  expect(most).toBe(1);
  expect(keyed.keyCount).toBe(0);
});

// The late release of the dropped semaphore deletes the key's new one.
test('a release that belongs to an earlier use of the key does not delete the present one', async () => {
  const keyed = new KeyedMutex<string>();
  const old = await keyed.lock('key');
  old.release();
  const present = await keyed.lock('key');
  old.release();
  expect(keyed.tryLock('key')).toBeUndefined();
  expect(keyed.keyCount).toBe(1);
  present.release();
});

// The second release counts, and two are inside a semaphore of 1.
test('a double release hands out no extra permit', async () => {
  const semaphore = new Semaphore(1);
  const first = await semaphore.acquire();
  const second = semaphore.acquire();
  const third = semaphore.acquire();
  first.release();
  first.release();
  expect(semaphore.waiting).toBe(1);
  (await second).release();
  (await third).release();
  expect(semaphore.available).toBe(1);
});

// A release that nobody owes raises the limit for ever.
test('there is no way to release without a permit', async () => {
  const semaphore = new Semaphore(2);
  expect('release' in semaphore).toBe(false);
  const permit = await semaphore.acquire();
  for (let times = 0; times < 10; times++) permit.release();
  expect(semaphore.available).toBe(2);
  expect(semaphore.limit).toBe(2);
  const { release } = permit;
  // Not bound to a permit, it gives nothing back.
  expect(() => release.call({} as Permit)).not.toThrow();
  expect(semaphore.available).toBe(2);
});

// The lock is held for ever.
test('a function that throws at once gives the permit back', async () => {
  const semaphore = new Semaphore(1);
  const fail = () => {
    throw new Error('at once');
  };
  await expect(semaphore.run(fail)).rejects.toThrow('at once');
  expect(await semaphore.run(() => 'next')).toBe('next');
});

// They stay in the queue, take the lock in turn, and the lock is taken though nobody holds it.
test('a thousand waiters that timed out are gone, and the lock is free', async () => {
  const mutex = new Mutex();
  const held = await mutex.lock();
  const waiters = Array.from({ length: 1_000 }, () => mutex.lock({ timeout: 10 }));
  expect(mutex.waiting).toBe(1_000);
  vi.advanceTimersByTime(10);
  expect(mutex.waiting).toBe(0);
  for (const waiter of waiters) await expect(waiter).rejects.toThrow(TimeoutError);
  held.release();
  expect(mutex.locked).toBe(false);
});

// A release on the lock itself frees it, whoever holds it.
test('who does not hold the lock cannot release it', async () => {
  const mutex = new Mutex();
  expect('release' in mutex).toBe(false);
  expect('unlock' in mutex).toBe(false);
  const mine = await mutex.lock();
  mine.release();
  const theirs = await mutex.lock();
  mine.release();
  expect(mutex.locked).toBe(true);
  mutex.assertHeldBy(theirs);
});

// What was in the queue never settles.
test('emptying the queue settles everybody who was in it', async () => {
  const semaphore = new Semaphore(1);
  const held = await semaphore.acquire();
  const outcomes = Promise.allSettled([
    semaphore.run(() => 'never'),
    semaphore.run(() => 'never', { priority: 1 }),
    semaphore.acquire(),
    semaphore.acquire({ timeout: 10 }),
  ]);
  semaphore.close();
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(ClosedError) });
  }
  held.release();
});

// The second time frees the permit of another holder.
test("disposing of a permit twice does not free another holder's", async () => {
  const semaphore = new Semaphore(1);
  const first = await semaphore.acquire();
  first[dispose]();
  const second = await semaphore.acquire();
  first[dispose]();
  expect(second.released).toBe(false);
  expect(semaphore.tryAcquire()).toBeUndefined();
});

// The first in the queue is rejected instead, and the one that was aborted waits for ever.
test('an abort rejects the waiter that it belongs to', async () => {
  const semaphore = new Semaphore(1);
  const held = await semaphore.acquire();
  const controller = new AbortController();
  const a = semaphore.acquire({ signal: new AbortController().signal });
  const b = semaphore.acquire({ signal: controller.signal });
  controller.abort('of b');
  await expect(b).rejects.toBe('of b');
  held.release();
  expect((await a).released).toBe(false);
});

// Three violations in seven mixed operations.
test('there is mutual exclusion under a mixed load', async () => {
  const mutex = new Mutex();
  const inside = { now: 0, most: 0, ever: 0 };
  const work = async () => {
    inside.now += 1;
    inside.ever += 1;
    inside.most = Math.max(inside.most, inside.now);
    await nextMacrotask();
    inside.now -= 1;
  };
  const controller = new AbortController();
  const task = async (n: number) => {
    switch (n % 7) {
      case 0:
        return mutex.run(work);
      case 1:
        return mutex.run(work, { priority: n });
      case 2:
        return mutex.run(work, { signal: controller.signal }).catch(() => {});
      case 3:
        return mutex.run(work, { timeout: 1_000 }).catch(() => {});
      case 4: {
        using lock = mutex.tryLock();
        return lock && (await work());
      }
      case 5: {
        using _lock = await mutex.lock();
        await work();
        throw new Error('while it holds the lock');
      }
      default: {
        const lock = await mutex.lock({ owner: n });
        await work();
        lock.release();
        lock.release();
      }
    }
  };
  const load = Promise.allSettled(Array.from({ length: 70 }, (_, n) => task(n)));
  await nextMacrotask();
  controller.abort();
  vi.advanceTimersByTime(1_000);
  await mutex.drain();
  await load;
  expect(inside).toMatchObject({ now: 0, most: 1 });
  expect(inside.ever).toBeGreaterThanOrEqual(40);
});

// A release looks through the whole queue: 75 µs at 5,000 waiters, hours at the depth of this test.
test('a queue of 200,000, half of which gives up, is served before the test runs out of time', async () => {
  const semaphore = new Semaphore(1);
  const held = await semaphore.acquire();
  const controllers: AbortController[] = [];
  let granted = 0;
  let aborted = 0;
  // Less urgent than the rest, so that all the others are put in front of it.
  const last = semaphore.acquire({ priority: -1 });
  for (let n = 0; n < 200_000; n++) {
    // Every other waiter may leave. Ten share a signal: Node warns of a leak when there are more.
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
