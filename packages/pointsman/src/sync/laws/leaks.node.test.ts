/** What an operation needs while it lasts is gone when it is over: listeners, timers and references. */
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { KeyedMutex, KeyedSemaphore, Mutex, type Permit, Semaphore } from '../index.js';

const times = Array.from({ length: 8 }, (_, n) => n);

/** A wait on something that a signal can end, and the permit that keeps it waiting. */
interface Scene {
  readonly hold: () => Permit;
  readonly wait: (options: { signal: AbortSignal; timeout?: number }) => Promise<unknown>;
  readonly close?: () => void;
}

const scenes: Record<string, () => Scene> = {
  'Semaphore.acquire'() {
    const semaphore = new Semaphore(1);
    return {
      hold: () => semaphore.tryAcquire() as Permit,
      wait: (options) => semaphore.acquire(options).then((permit) => permit.release()),
      close: () => semaphore.close('closed'),
    };
  },
  'Semaphore.run'() {
    const semaphore = new Semaphore(1);
    return {
      hold: () => semaphore.tryAcquire() as Permit,
      wait: (options) => semaphore.run(() => {}, options),
      close: () => semaphore.close('closed'),
    };
  },
  'Semaphore.drain'() {
    const semaphore = new Semaphore(1);
    return {
      hold: () => semaphore.tryAcquire() as Permit,
      wait: (options) => semaphore.drain(options),
    };
  },
  'Mutex.lock'() {
    const mutex = new Mutex();
    return {
      hold: () => mutex.tryLock() as Permit,
      wait: (options) => mutex.lock({ ...options, owner: {} }).then((lock) => lock.release()),
      close: () => mutex.close('closed'),
    };
  },
  'KeyedMutex.lock'() {
    const keyed = new KeyedMutex<string>();
    return {
      hold: () => keyed.tryLock('key') as Permit,
      wait: (options) => keyed.lock('key', options).then((lock) => lock.release()),
      close: () => keyed.close('closed'),
    };
  },
  'KeyedSemaphore.acquire'() {
    const keyed = new KeyedSemaphore<string>(1);
    return {
      hold: () => keyed.tryAcquire('key') as Permit,
      wait: (options) => keyed.acquire('key', options).then((permit) => permit.release()),
      close: () => keyed.close('closed'),
    };
  },
  'KeyedSemaphore.drain'() {
    const keyed = new KeyedSemaphore<string>(1);
    return {
      hold: () => keyed.tryAcquire('key') as Permit,
      wait: (options) => keyed.drain(options),
    };
  },
};

describe.each(Object.entries(scenes))('%s leaves no listener and no timer', (_, create) => {
  const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;
  const timers = () =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

  test('when it need not wait', async () => {
    const { wait } = create();
    const { signal } = new AbortController();
    const before = timers();
    for (const _ of times) await wait({ signal, timeout: 60_000 });
    expect(listeners(signal)).toBe(0);
    expect(timers()).toBe(before);
  });

  test('when it has waited', async () => {
    const { hold, wait } = create();
    const { signal } = new AbortController();
    const before = timers();
    const held = hold();
    const waits = times.map(() => wait({ signal, timeout: 60_000 }));
    await nextMacrotask();
    expect(listeners(signal)).toBe(1);
    expect(timers()).toBe(before + times.length);
    held.release();
    await Promise.all(waits);
    expect(listeners(signal)).toBe(0);
    expect(timers()).toBe(before);
  });

  test('when it was aborted', async () => {
    const { hold, wait } = create();
    const controller = new AbortController();
    const { signal } = controller;
    const before = timers();
    const held = hold();
    const waits = Promise.allSettled(times.map(() => wait({ signal, timeout: 60_000 })));
    await nextMacrotask();
    controller.abort();
    expect(listeners(signal)).toBe(0);
    expect(timers()).toBe(before);
    expect(new Set((await waits).map(({ status }) => status))).toEqual(new Set(['rejected']));
    held.release();
  });

  test('when its time was over', async () => {
    const { hold, wait } = create();
    const { signal } = new AbortController();
    const before = timers();
    const held = hold();
    for (const timeout of [0, 1]) {
      const waits = await Promise.allSettled(times.map(() => wait({ signal, timeout })));
      expect(new Set(waits.map(({ status }) => status))).toEqual(new Set(['rejected']));
      expect(listeners(signal)).toBe(0);
      expect(timers()).toBe(before);
    }
    held.release();
  });

  test('when it was closed or refused', async () => {
    const { hold, wait, close } = create();
    if (close === undefined) return;
    const { signal } = new AbortController();
    const before = timers();
    const held = hold();
    const waits = times.map(() => wait({ signal, timeout: 60_000 }));
    close();
    waits.push(wait({ signal, timeout: 60_000 }));
    held.release();
    waits.push(wait({ signal, timeout: 60_000 }));
    for (const waiter of waits) await expect(waiter).rejects.toBe('closed');
    expect(listeners(signal)).toBe(0);
    expect(timers()).toBe(before);
  });

  test('when the input was bad', async () => {
    const { hold, wait } = create();
    const { signal } = new AbortController();
    const before = timers();
    for (const state of ['free', 'taken']) {
      const held = state === 'taken' ? hold() : undefined;
      await expect(wait({ signal, timeout: -1 })).rejects.toThrow(RangeError);
      await expect(
        wait({ signal: { aborted: false } as never, timeout: 60_000 }),
      ).rejects.toThrow();
      expect(listeners(signal)).toBe(0);
      expect(timers()).toBe(before);
      held?.release();
    }
  });
});

describe('nothing is kept alive', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  /** Whether what was used in there can be collected, though all else lives on. */
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

  test('by a semaphore in use: places in the line that many have left', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const front = semaphore.acquire();
    const comeAndGo = async (count: number) => {
      for (let n = 0; n < count; n += 1_000) {
        const controller = new AbortController();
        const { signal } = controller;
        const waits = times.concat(Array(992)).map(() => semaphore.acquire({ signal }));
        controller.abort('gone');
        await Promise.allSettled(waits);
      }
      await nextMacrotask();
      collect();
      return process.memoryUsage().heapUsed;
    };
    await comeAndGo(20_000);
    const before = await comeAndGo(1_000);
    const after = await comeAndGo(200_000);
    // A place takes eight bytes or more.
    expect(after - before).toBeLessThan(800_000);
    expect(semaphore.waiting).toBe(1);
    held.release();
    (await front).release();
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

  test('by a keyed mutex: a key that nobody holds', async () => {
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
