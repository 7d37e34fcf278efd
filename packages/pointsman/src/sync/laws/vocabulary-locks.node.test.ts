/**
 * Readers and writers, notifications, conditions and meetings: the async context is that of whoever waited, and
 * nothing is left when a wait is over: no listener, no timer, no memory, also after a storm of aborts.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  Barrier,
  Condition,
  KeyedRwLock,
  Latch,
  Mutex,
  Notify,
  type Permit,
  RwLock,
  type WaitOptions,
} from '../index.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Something to wait for, and what lets all in who wait. */
interface Scene {
  readonly wait: (options?: WaitOptions) => Promise<unknown>;
  readonly letIn: () => unknown;
  readonly waiting: () => number;
}

const scenes: Record<string, (expected: number) => Promise<Scene>> = {
  async 'RwLock.read'() {
    const lock = new RwLock();
    const held = await lock.write();
    return {
      wait: (options) => lock.read(options).then((permit) => permit.release()),
      letIn: () => held.release(),
      waiting: () => lock.waiting,
    };
  },
  async 'RwLock.write'() {
    const lock = new RwLock();
    const held = await lock.read();
    return {
      wait: (options) => lock.write(options).then((permit) => permit.release()),
      letIn: () => held.release(),
      waiting: () => lock.waiting,
    };
  },
  async 'RwLock.runWrite'() {
    const lock = new RwLock();
    const held = await lock.write();
    return {
      wait: (options) => lock.runWrite(() => {}, options),
      letIn: () => held.release(),
      waiting: () => lock.waiting,
    };
  },
  async 'KeyedRwLock.read'() {
    const keyed = new KeyedRwLock<string>();
    const held = await keyed.write('key');
    return {
      wait: (options) => keyed.read('key', options).then((permit) => permit.release()),
      letIn: () => held.release(),
      waiting: () => keyed.waitingFor('key'),
    };
  },
  async 'Notify.notified'() {
    const notify = new Notify();
    return {
      wait: (options) => notify.notified(options),
      letIn: () => notify.notifyWaiters(),
      waiting: () => notify.waiting,
    };
  },
  async 'Condition.wait'() {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    return {
      async wait(options) {
        using lock = mutex.tryLock() as Permit;
        await condition.wait(lock, options);
      },
      letIn: () => condition.notifyAll(),
      waiting: () => condition.waiting,
    };
  },
  async 'Condition.waitFor'() {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    let ready = false;
    return {
      async wait(options) {
        using lock = await mutex.lock();
        await condition.waitFor(lock, () => ready, options);
      },
      letIn: () => {
        ready = true;
        condition.notifyAll();
      },
      waiting: () => condition.waiting,
    };
  },
  async 'Barrier.wait'(expected) {
    const barrier = new Barrier(expected + 1);
    return {
      wait: (options) => barrier.wait(options),
      letIn: () => barrier.wait(),
      waiting: () => barrier.waiting,
    };
  },
  async 'Latch.wait'() {
    const latch = new Latch(1);
    return {
      wait: (options) => latch.wait(options),
      letIn: () => latch.countDown(),
      waiting: () => latch.waiting,
    };
  },
};

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe.each(Object.entries(scenes))('%s', (name, create) => {
  const storage = new AsyncLocalStorage<number>();
  const numbers = Array.from({ length: 50 }, (_, n) => n);

  test.each<[string, WaitOptions | undefined]>([
    ['without options', undefined],
    ['with options', { timeout: 60_000 }],
  ])('keeps the async context of who waits, %s', async (_, options) => {
    const scene = await create(numbers.length);
    const start = async (go: (n: number) => Promise<unknown>) => {
      const seen = numbers.map((n) => storage.run(n, () => go(n)));
      await nextMacrotask();
      expect(scene.waiting()).toBe(numbers.length);
      storage.run(-1, scene.letIn);
      return Promise.all(seen);
    };
    const seen = await start(async () => {
      await scene.wait(options);
      return storage.getStore();
    });
    expect(seen).toEqual(numbers);
    const other = await create(numbers.length);
    const then = numbers.map((n) =>
      storage.run(n, () => other.wait(options).then(() => storage.getStore())),
    );
    await nextMacrotask();
    storage.run(-1, other.letIn);
    expect(await Promise.all(then)).toEqual(numbers);
  });

  test('keeps the async context of who gives up', async () => {
    const scene = await create(numbers.length);
    const controller = new AbortController();
    const seen = numbers.map((n) =>
      storage.run(n, () =>
        scene.wait({ signal: controller.signal }).catch(() => storage.getStore()),
      ),
    );
    await nextMacrotask();
    storage.run(-1, () => controller.abort());
    expect(await Promise.all(seen)).toEqual(numbers);
  });

  test('leaves no listener and no timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const scene = await create(numbers.length);
    const controller = new AbortController();
    const { signal } = controller;
    const left = (signal: AbortSignal) => [listeners(signal), vi.getTimerCount()];
    const waits = numbers.map(() => scene.wait({ signal, timeout: 60_000 }));
    await nextMacrotask();
    expect(left(signal)).toEqual([1, numbers.length]);
    scene.letIn();
    await Promise.all(waits);
    expect(left(signal)).toEqual([0, 0]);

    const other = await create(numbers.length);
    const refused = numbers.map(() => other.wait({ signal, timeout: 60_000 }).catch(String));
    await nextMacrotask();
    controller.abort('gone');
    expect(left(signal)).toEqual([0, 0]);
    expect(new Set(await Promise.all(refused))).toEqual(new Set(['gone']));
    expect(other.waiting()).toBe(0);

    for (const timeout of [0, 5]) {
      const { signal } = new AbortController();
      const late = other.wait({ signal, timeout }).catch((error) => error.name);
      await nextMacrotask();
      vi.advanceTimersByTime(timeout);
      expect(await late).toBe('TimeoutError');
      expect(left(signal)).toEqual([0, 0]);
    }
  });

  test('a storm of 100,000 aborts leaves no memory behind', async () => {
    const scene = await create(Number.MAX_SAFE_INTEGER - 1);
    const storm = async (count: number) => {
      for (let n = 0; n < count; n += 1_000) {
        const controllers = Array.from({ length: 10 }, () => new AbortController());
        const waits = Array.from({ length: 1_000 }, (_, index) =>
          scene.wait({ signal: controllers[index % 10]?.signal as AbortSignal }),
        );
        const settled = Promise.allSettled(waits);
        if (name.startsWith('Condition')) await nextMacrotask();
        for (const controller of controllers) controller.abort('gone');
        await settled;
      }
      expect(scene.waiting()).toBe(0);
      await nextMacrotask();
      collect();
      return process.memoryUsage().heapUsed;
    };
    await storm(10_000);
    const before = await storm(1_000);
    const after = await storm(100_000);
    // A reference takes eight bytes for each of them.
    expect(after - before).toBeLessThan(500_000);
  }, 60_000);
});

test('an idle lock keeps neither what was held nor who waited', async () => {
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
  await nextMacrotask();
  collect();
  await nextMacrotask();
  collect();
  expect(watched.map((each) => each.deref())).toEqual(watched.map(() => undefined));
  expect([lock.idle, mutex.locked]).toEqual([true, false]);
});

test('a million keys leave no memory behind', async () => {
  const keyed = new KeyedRwLock<number>();
  const use = async (count: number) => {
    for (let key = 0; key < count; key++) {
      const read = keyed.tryRead(key);
      const write = key % 8 === 0 ? keyed.write(key) : undefined;
      read?.release();
      if (write) (await write).release();
    }
    expect(keyed.keyCount).toBe(0);
    await nextMacrotask();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await use(10_000);
  const after = await use(1_000_000);
  expect(after - before).toBeLessThan(500_000);
}, 60_000);
