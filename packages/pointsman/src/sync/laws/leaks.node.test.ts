/** A wait that is over leaves nothing: no listener, no timer, no place in a queue and no memory. */
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  Condition,
  KeyedMutex,
  KeyedRwLock,
  Mutex,
  type Permit,
  RwLock,
  Semaphore,
} from '../index.js';
import { type Wait, waits, waitsWith } from './waits.js';

const times = Array.from({ length: 8 }, (_, n) => n);
const gone = new Error('gone');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function heapUsed(): Promise<number> {
  await nextMacrotask();
  collect();
  return process.memoryUsage().heapUsed;
}

describe('no listener and no timer is left', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  /** Eight waits that share a signal, and what is left of them. */
  async function scene<Each extends Wait>(create: (count: number) => Each, timeout?: number) {
    const wait = create(times.length);
    const controller = new AbortController();
    const { signal } = controller;
    const start = () => wait.start({ signal, timeout });
    const left = () => [
      getEventListeners(signal, 'abort').length,
      vi.getTimerCount(),
      wait.waiting?.() ?? 0,
    ];
    const waiting = Promise.allSettled(times.map(start));
    await nextMacrotask();
    const reasons = async () => (await waiting).map((end) => 'reason' in end && end.reason);
    return { wait, controller, start, left, reasons };
  }

  describe.each(Object.entries(waits))('%s', (_, create) => {
    test.each([undefined, 60_000])('when it succeeds, with a timeout of %s', async (timeout) => {
      const { wait, left, reasons } = await scene(create, timeout);
      const timers = timeout === undefined ? 0 : times.length;
      expect(left()).toEqual([1, timers, wait.waiting ? times.length : 0]);
      wait.serve();
      expect(await reasons()).toEqual(times.map(() => false));
      expect(left()).toEqual([0, 0, 0]);
    });

    test.each([undefined, 60_000])('when it is aborted, with a timeout of %s', async (timeout) => {
      const { controller, left, reasons } = await scene(create, timeout);
      controller.abort(gone);
      expect(left()).toEqual([0, 0, 0]);
      for (const reason of await reasons()) expect(reason).toBe(gone);
    });

    test.each([0, 5])('when it times out after %d ms', async (timeout) => {
      const { left, reasons } = await scene(create, timeout);
      vi.advanceTimersByTime(timeout);
      expect(left()).toEqual([0, 0, 0]);
      for (const reason of await reasons()) expect(reason.name).toBe('TimeoutError');
    });

    test('when its options are invalid, whether it has to wait or not', async () => {
      for (const state of ['free', 'taken']) {
        const wait = create(1);
        if (state === 'free') wait.free?.();
        const { signal } = new AbortController();
        await expect(wait.start({ signal, timeout: -1 })).rejects.toThrow(RangeError);
        const noSignal = { aborted: false } as never;
        await expect(wait.start({ signal: noSignal, timeout: 60_000 })).rejects.toThrow('signal');
        expect(getEventListeners(signal, 'abort')).toHaveLength(0);
        expect([vi.getTimerCount(), wait.waiting?.() ?? 0]).toEqual([0, 0]);
      }
    });
  });

  test.each(waitsWith('close'))('%s, when it is closed or refused', async (name, create) => {
    const { wait, start, left, reasons } = await scene(create, 60_000);
    wait.close(gone);
    for (const reason of await reasons()) expect(reason).toBe(gone);
    if (!name.endsWith('source')) await expect(start()).rejects.toBe(gone);
    expect(left()).toEqual([0, 0, 0]);
  });

  test.each(waitsWith('free'))('%s, when it did not have to wait', async (_, create) => {
    const { start, free } = create(1);
    const { signal } = new AbortController();
    free();
    await start({ signal, timeout: 60_000 });
    expect([getEventListeners(signal, 'abort').length, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

describe('nothing is kept alive', () => {
  /** Whether the objects watched by `use` can be collected, while everything else is still in use. */
  async function isForgotten(
    use: (watch: (it: object) => void) => Promise<void>,
  ): Promise<boolean> {
    const watched: WeakRef<object>[] = [];
    await use((it) => watched.push(new WeakRef(it)));
    // A reference that was made or looked at in a turn holds until its end.
    await nextMacrotask();
    collect();
    await nextMacrotask();
    collect();
    expect(watched.length).toBeGreaterThan(0);
    return watched.every((reference) => reference.deref() === undefined);
  }

  test('what is held, as a proof that the test can fail', async () => {
    const mutex = new Mutex();
    const forgotten = await isForgotten(async (watch) => {
      const owner = {};
      await mutex.lock({ owner });
      watch(owner);
    });
    expect(forgotten).toBe(false);
    expect(mutex.owner).toEqual({});
  });

  test('by an idle mutex: the last owner', async () => {
    const mutex = new Mutex();
    const forgotten = await isForgotten(async (watch) => {
      const owner = {};
      (await mutex.lock({ owner })).release();
      watch(owner);
    });
    expect(forgotten).toBe(true);
    expect(mutex.owner).toBeUndefined();
  });

  test('by a mutex: an owner who gave up', async () => {
    const mutex = new Mutex();
    const lock = await mutex.lock();
    const controller = new AbortController();
    const forgotten = await isForgotten(async (watch) => {
      const owner = {};
      const waiter = mutex.lock({ owner, signal: controller.signal });
      controller.abort('gone');
      await waiter.catch(() => {});
      watch(owner);
    });
    expect(forgotten).toBe(true);
    mutex.assertHeldBy(lock);
  });

  test('by a semaphore in use: a waiter that gave up in the middle of the queue', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const before = semaphore.acquire({ priority: 0 });
    const { signal } = new AbortController();
    const forgotten = await isForgotten(async (watch) => {
      const waiter = semaphore.acquire({ signal, timeout: 1 });
      void semaphore.acquire({ priority: 0 });
      await waiter.catch(() => {});
      watch(waiter);
    });
    expect(forgotten).toBe(true);
    expect(semaphore.waiting).toBe(2);
    held.release();
    await before;
  });

  test('by an idle semaphore: the permits and the waiters that there were', async () => {
    const semaphore = new Semaphore(1);
    const permits = await isForgotten(async (watch) => {
      const permit = await semaphore.acquire();
      permit.release();
      watch(permit);
    });
    const waiters = await isForgotten(async (watch) => {
      const held = await semaphore.acquire();
      const waiter = semaphore.acquire({ timeout: 60_000 });
      held.release();
      (await waiter).release();
      watch(waiter);
    });
    expect([permits, waiters]).toEqual([true, true]);
    expect(semaphore.idle).toBe(true);
  });

  test('by a signal: a semaphore that was waited on', async () => {
    const { signal } = new AbortController();
    const forgotten = await isForgotten(async (watch) => {
      const semaphore = new Semaphore(1);
      const held = await semaphore.acquire({ signal });
      const waiter = semaphore.acquire({ signal });
      held.release();
      (await waiter).release();
      watch(semaphore);
    });
    expect(forgotten).toBe(true);
    expect(signal.aborted).toBe(false);
  });

  test('by a released permit: its semaphore', async () => {
    const permits: Permit[] = [];
    const forgotten = await isForgotten(async (watch) => {
      const semaphore = new Semaphore(1);
      const permit = await semaphore.acquire();
      permits.push(permit);
      permit.release();
      watch(semaphore);
    });
    expect(forgotten).toBe(true);
    expect(permits[0]?.released).toBe(true);
  });

  test('by a keyed mutex: a key that is not in use', async () => {
    const keyed = new KeyedMutex<object>();
    const forgotten = await isForgotten(async (watch) => {
      const key = {};
      await keyed.run(key, () => nextMacrotask());
      await keyed.lock(key, { timeout: -1 }).catch(() => {});
      watch(key);
    });
    expect(forgotten).toBe(true);
    expect(keyed.keyCount).toBe(0);
  });
});

test('an idle lock keeps no permit and no owner', async () => {
  const lock = new RwLock();
  const mutex = new Mutex();
  const condition = new Condition(mutex);
  const watched: WeakRef<object>[] = [];
  await (async () => {
    const write = await lock.write();
    const reader = lock.read();
    const read = write.downgrade();
    const owner = {};
    const held = await mutex.lock({ owner });
    const wait = condition.wait(held);
    condition.notify();
    await wait;
    expect(mutex.owner).toBe(owner);
    held.release();
    for (const permit of [write, read, await reader]) {
      permit.release();
      watched.push(new WeakRef(permit));
    }
    watched.push(new WeakRef(held), new WeakRef(owner));
  })();
  await heapUsed();
  await heapUsed();
  expect(watched.map((each) => each.deref())).toEqual(watched.map(() => undefined));
  expect([lock.idle, mutex.locked]).toEqual([true, false]);
});

test('many keys leave no memory behind', async () => {
  const keyed = new KeyedRwLock<number>();
  const use = async (count: number) => {
    for (let key = 0; key < count; key++) {
      const read = keyed.tryRead(key);
      const write = key % 8 === 0 ? keyed.write(key) : undefined;
      read?.release();
      if (write) (await write).release();
    }
    expect(keyed.keyCount).toBe(0);
    return heapUsed();
  };
  const before = await use(10_000);
  const after = await use(200_000);
  expect(after - before).toBeLessThan(500_000);
}, 60_000);
