/** A condition: the same lock is held again after each wait, and no notification is lost. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  ClosedError,
  Condition,
  KeyedMutex,
  Mutex,
  type Permit,
  QueueFullError,
} from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** A mutex, a condition of it, and its held lock. */
async function scene(options?: ConstructorParameters<typeof Mutex>[0]) {
  const mutex = new Mutex(options);
  return { mutex, condition: new Condition(mutex), lock: await mutex.lock() };
}

describe('wait', () => {
  test('releases the lock, and holds it again after a notification', async () => {
    const { mutex, condition, lock } = await scene();
    const wait = condition.wait(lock);
    expect([condition.waiting, mutex.locked]).toEqual([1, false]);
    expect(() => mutex.assertHeldBy(lock)).toThrow(TypeError);
    const other = await mutex.lock();
    condition.notify();
    expect([condition.waiting, mutex.waiting]).toEqual([0, 1]);
    other.release();
    await wait;
    mutex.assertHeldBy(lock);
    expect([lock.released, lock.permits, mutex.waiting]).toEqual([false, 1, 0]);
    lock.release();
    expect([lock.released, mutex.locked]).toEqual([true, false]);
    lock.release();
    (await mutex.lock()).release();
  });

  test('works with `using`, also when it rejects', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const wait = async (options?: object) => {
      using lock = await mutex.lock();
      await condition.wait(lock, options);
      mutex.assertHeldBy(lock);
    };
    const waits = [wait(), wait({ timeout: 10 })];
    await nextMacrotask();
    condition.notify();
    vi.advanceTimersByTime(10);
    await waits[0];
    await expect(waits[1]).rejects.toThrow('timed out after 10 ms');
    expect(mutex.locked).toBe(false);
  });

  test('a notified waiter requests the lock in the step of the notification', async () => {
    const { mutex, condition, lock } = await scene();
    const order: string[] = [];
    const enter = (name: string, locked: Promise<Permit>) =>
      locked.then((held) => {
        order.push(name);
        held.release();
      });
    const wait = condition.wait(lock).then(() => {
      order.push('notified');
      lock.release();
    });
    const holder = await mutex.lock();
    const before = enter('before', mutex.lock());
    condition.notify();
    const after = enter('after', mutex.lock());
    holder.release();
    await Promise.all([wait, before, after]);
    expect(order).toEqual(['before', 'notified', 'after']);
  });

  test('notified waiters hold the lock one after the other, in the order of arrival', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const order: number[] = [];
    let inside = 0;
    const waits = [0, 1, 2, 3].map(async (n) => {
      using lock = await mutex.lock();
      await condition.wait(lock, n % 2 ? { timeout: 1_000 } : undefined);
      inside += 1;
      expect(inside).toBe(1);
      await nextMacrotask();
      order.push(n);
      inside -= 1;
    });
    await nextMacrotask();
    expect(condition.waiting).toBe(4);
    await mutex.run(() => condition.notifyAll());
    await Promise.all(waits);
    expect(order).toEqual([0, 1, 2, 3]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('keeps its owner, and the mutex has none during the wait', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const lock = await mutex.lock({ owner: 'ann' });
    const wait = condition.wait(lock);
    expect(mutex.owner).toBeUndefined();
    const other = await mutex.lock({ owner: 'bob' });
    expect(mutex.owner).toBe('bob');
    condition.notify();
    other.release();
    await wait;
    expect(mutex.owner).toBe('ann');
    await expect(mutex.lock({ owner: 'ann' })).rejects.toThrow('holds the lock already');
    lock.release();
    expect(mutex.owner).toBeUndefined();
  });

  test('the mutex has no owner while a holder without an owner has the lock', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const lock = await mutex.lock({ owner: 'ann' });
    const next = mutex.lock();
    const wait = condition.wait(lock);
    expect([mutex.locked, mutex.owner]).toEqual([true, undefined]);
    mutex.assertHeldBy(await next);
    condition.notify();
    (await next).release();
    await wait;
    expect(mutex.owner).toBe('ann');
  });

  test('the same owner can hold another lock during the wait', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const lock = await mutex.lock({ owner: 'ann' });
    const wait = condition.wait(lock);
    const other = await mutex.lock({ owner: 'ann' });
    condition.notify();
    other.release();
    await wait;
    mutex.assertHeldBy(lock);
  });

  test('a notification is not kept', async () => {
    const { mutex, condition, lock } = await scene();
    condition.notify();
    condition.notifyAll();
    const wait = condition.wait(lock, { timeout: 5 });
    await nextMacrotask();
    vi.advanceTimersByTime(5);
    await expect(wait).rejects.toThrow('timed out after 5 ms');
    mutex.assertHeldBy(lock);
  });

  test('a timeout bounds the wait for the notification, not the wait for the lock', async () => {
    const { mutex, condition, lock } = await scene({ name: 'jobs' });
    const wait = condition.wait(lock, { timeout: 5 });
    const other = await mutex.lock();
    condition.notify();
    vi.advanceTimersByTime(100);
    other.release();
    await wait;
    const again = condition.wait(lock, { timeout: 5 });
    const last = await mutex.lock();
    vi.advanceTimersByTime(100);
    await nextMacrotask();
    expect(mutex.waiting).toBe(1);
    last.release();
    await expect(again).rejects.toThrow('jobs: timed out after 5 ms');
    mutex.assertHeldBy(lock);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('giving up', () => {
  test('before the wait: the lock is not released', async () => {
    const { mutex, condition, lock } = await scene();
    const other = mutex.lock();
    await expect(condition.wait(lock, { signal: AbortSignal.abort('gone') })).rejects.toBe('gone');
    await expect(condition.wait(lock, { timeout: 0 })).rejects.toThrow('timed out after 0 ms');
    await expect(condition.wait(lock, { timeout: -1 })).rejects.toThrow(RangeError);
    await expect(condition.wait(lock, { priority: 1 } as never)).rejects.toThrow('"priority"');
    mutex.assertHeldBy(lock);
    expect([mutex.waiting, condition.waiting]).toEqual([1, 0]);
    lock.release();
    (await other).release();
  });

  test('a free lock is held again in the step of the abort', async () => {
    const { mutex, condition, lock } = await scene();
    const controller = new AbortController();
    const wait = condition.wait(lock, { signal: controller.signal });
    controller.abort('gone');
    expect(mutex.tryLock()).toBeUndefined();
    await expect(wait).rejects.toBe('gone');
    mutex.assertHeldBy(lock);
  });

  test('before a notification in the same step: the next waiter is notified', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const controller = new AbortController();
    const first = await mutex.lock();
    const gone = condition.wait(first, { signal: controller.signal });
    const second = await mutex.lock();
    const notified = condition.wait(second);
    controller.abort('gone');
    condition.notify();
    await expect(gone).rejects.toBe('gone');
    first.release();
    await notified;
    second.release();
  });

  test('after a notification in the same step: the waiter is notified', async () => {
    const { mutex, condition, lock } = await scene();
    const controller = new AbortController();
    const wait = condition.wait(lock, { signal: controller.signal });
    condition.notify();
    controller.abort('gone');
    await wait;
    mutex.assertHeldBy(lock);
  });

  test('a notification by an earlier listener of the same signal wakes the next waiter', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    const controller = new AbortController();
    const { signal } = controller;
    signal.addEventListener('abort', () => condition.notify());
    const first = await mutex.lock();
    const gone = condition.wait(first, { signal });
    const second = await mutex.lock();
    const notified = condition.wait(second);
    controller.abort('gone');
    await expect(gone).rejects.toBe('gone');
    first.release();
    await notified;
    mutex.assertHeldBy(second);
  });
});

describe('when the mutex is closed', () => {
  test('during the wait for a notification: it rejects without the lock', async () => {
    const { mutex, condition, lock } = await scene();
    const wait = condition.wait(lock);
    const timed = condition.wait(await mutex.lock(), { timeout: 60_000 });
    mutex.close();
    mutex.close();
    await expect(wait).rejects.toThrow(ClosedError);
    await expect(timed).rejects.toThrow(ClosedError);
    expect([lock.released, mutex.locked, condition.waiting]).toEqual([true, false, 0]);
    expect(vi.getTimerCount()).toBe(0);
    lock.release();
    await mutex.drain();
  });

  test('during the wait for the lock: it rejects without the lock', async () => {
    const { mutex, condition, lock } = await scene();
    const wait = condition.wait(lock);
    const other = await mutex.lock();
    condition.notify();
    mutex.close('going home');
    await expect(wait).rejects.toBe('going home');
    expect(lock.released).toBe(true);
    mutex.assertHeldBy(other);
    other.release();
    expect(mutex.locked).toBe(false);
  });

  test('before the wait: the lock is released and not acquired again', async () => {
    const { mutex, condition, lock } = await scene();
    mutex.close('going home');
    const wait = condition.wait(lock);
    expect(mutex.locked).toBe(false);
    condition.notify();
    await expect(wait).rejects.toBe('going home');
    expect(lock.released).toBe(true);
  });

  test('after the lock is held again: the lock stays valid', async () => {
    const { mutex, condition, lock } = await scene();
    const wait = condition.wait(lock);
    condition.notify();
    await wait;
    mutex.close();
    mutex.assertHeldBy(lock);
  });

  test('cancel rejects a wait for the lock, not a wait for a notification', async () => {
    const { mutex, condition, lock } = await scene();
    const wait = condition.wait(lock);
    mutex.cancel('not now');
    expect(condition.waiting).toBe(1);
    const other = await mutex.lock();
    condition.notify();
    mutex.cancel('not now');
    await expect(wait).rejects.toBe('not now');
    expect(lock.released).toBe(true);
    other.release();
  });

  test('maxWaiting bounds the request for the lock after a notification', async () => {
    const { mutex, condition, lock } = await scene({ maxWaiting: 0 });
    const wait = condition.wait(lock);
    const other = await mutex.lock();
    condition.notify();
    await expect(wait).rejects.toThrow(QueueFullError);
    expect(lock.released).toBe(true);
    other.release();
  });
});

describe('a lock that is released during the wait', () => {
  test('for a notification: the wait ends, and the lock is not requested again', async () => {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    let wait: Promise<void> | undefined;
    {
      using lock = await mutex.lock();
      wait = condition.wait(lock);
    }
    expect([condition.waiting, mutex.locked]).toEqual([0, false]);
    condition.notify();
    await expect(wait).rejects.toMatchObject({ name: 'AbortError' });
    expect(mutex.locked).toBe(false);
  });

  test('for the lock: it is granted in its turn and released at once', async () => {
    const { mutex, condition, lock } = await scene();
    const wait = condition.wait(lock);
    const other = await mutex.lock();
    condition.notify();
    const next = mutex.lock();
    lock.release();
    lock.release();
    other.release();
    await expect(wait).rejects.toMatchObject({ name: 'AbortError' });
    mutex.assertHeldBy(await next);
    expect(lock.released).toBe(true);
    (await next).release();
    expect(mutex.locked).toBe(false);
  });

  test('for the lock, before the mutex is closed: it rejects with the reason', async () => {
    const { mutex, condition, lock } = await scene();
    const wait = condition.wait(lock);
    const other = await mutex.lock();
    condition.notify();
    lock.release();
    mutex.close('going home');
    await expect(wait).rejects.toBe('going home');
    expect(lock.released).toBe(true);
    other.release();
  });
});

describe('bad input', () => {
  test('a lock that is not held is refused at once', async () => {
    const { mutex, condition, lock } = await scene();
    const released = await new Mutex().lock();
    released.release();
    const parked = condition.wait(lock);
    const bad: [unknown, string][] = [
      [released, 'a lock that was released'],
      [await new Mutex().lock(), 'a lock of another mutex'],
      [await new KeyedMutex().lock('key'), 'a lock of another mutex'],
      [lock, 'one that waits'],
      [undefined, 'undefined'],
      [{}, 'object'],
    ];
    for (const [value, message] of bad) {
      for (const call of [
        condition.wait(value as never),
        condition.waitFor(value as never, () => true),
      ]) {
        await expect(call).rejects.toThrow(TypeError);
        await expect(call).rejects.toThrow(message);
      }
    }
    expect(condition.waiting).toBe(1);
    condition.notify();
    await parked;
    mutex.assertHeldBy(lock);
  });

  test('an invalid mutex, predicate or timeout is refused', async () => {
    for (const bad of [undefined, null, {}, new KeyedMutex()]) {
      expect(() => new Condition(bad as never)).toThrow('mutex must be a Mutex');
    }
    const { condition, lock } = await scene();
    await expect(condition.waitFor(lock, 1 as never)).rejects.toThrow(
      'predicate must be a function',
    );
    await expect(condition.waitFor(lock, () => true, { timeout: -1 })).rejects.toThrow(RangeError);
    expect(lock.released).toBe(false);
  });
});

describe('waitFor', () => {
  test('calls the predicate first, and waits only if it returns false', async () => {
    const { mutex, condition, lock } = await scene();
    const other = mutex.lock();
    await condition.waitFor(lock, () => true, { timeout: 0 });
    await condition.waitFor(lock, async () => true);
    await expect(condition.waitFor(lock, () => false, { timeout: 0 })).rejects.toThrow('timed out');
    mutex.assertHeldBy(lock);
    expect(mutex.waiting).toBe(1);
    lock.release();
    (await other).release();
  });

  test('calls the predicate after each notification, with the lock held', async () => {
    const { mutex, condition, lock } = await scene();
    let count = 0;
    const wait = condition.waitFor(lock, () => {
      mutex.assertHeldBy(lock);
      return count >= 2;
    });
    for (let n = 0; n < 2; n++) {
      await nextMacrotask();
      expect(condition.waiting).toBe(1);
      await mutex.run(() => {
        count += 1;
        condition.notify();
      });
    }
    await wait;
    mutex.assertHeldBy(lock);
  });

  test('its timeout bounds all waits for notifications together', async () => {
    const { mutex, condition, lock } = await scene({ name: 'jobs' });
    const wait = condition.waitFor(lock, () => false, { timeout: 10 });
    const outcome = expect(wait).rejects.toThrow('jobs: timed out after 10 ms');
    for (let n = 0; n < 3; n++) {
      await nextMacrotask();
      vi.advanceTimersByTime(4);
      condition.notify();
    }
    await outcome;
    mutex.assertHeldBy(lock);
    expect([condition.waiting, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('an abort ends it with the lock held', async () => {
    const { mutex, condition, lock } = await scene();
    const controller = new AbortController();
    const wait = condition.waitFor(lock, () => false, { signal: controller.signal });
    await nextMacrotask();
    controller.abort('gone');
    await expect(wait).rejects.toBe('gone');
    mutex.assertHeldBy(lock);
  });

  test('an error of the predicate ends it with the lock held', async () => {
    const { mutex, condition, lock } = await scene();
    const fail = () => {
      throw new Error('lost');
    };
    await expect(condition.waitFor(lock, fail, { timeout: 60_000 })).rejects.toThrow('lost');
    await expect(condition.waitFor(lock, () => Promise.reject('no'))).rejects.toBe('no');
    mutex.assertHeldBy(lock);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('an abort after the notification, during the wait for the lock, has no effect', async () => {
    const { mutex, condition, lock } = await scene();
    const controller = new AbortController();
    let ready = false;
    const wait = condition.waitFor(lock, () => ready, { signal: controller.signal });
    await nextMacrotask();
    const other = await mutex.lock();
    ready = true;
    condition.notify();
    controller.abort('gone');
    other.release();
    await wait;
    mutex.assertHeldBy(lock);
  });
});

test('a bounded buffer loses no value, with any aborts in any order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 1, max: 2 }),
      fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 6, size: 'max' }),
      fc.array(fc.nat({ max: 3 }), { maxLength: 4, size: 'max' }),
      async (scheduler, capacity, consumers, impatient) => {
        const mutex = new Mutex();
        const notEmpty = new Condition(mutex);
        const notFull = new Condition(mutex);
        const buffer: number[] = [];
        const taken: number[] = [];
        let inside = 0;
        const turn = (label: string) => scheduler.schedule(Promise.resolve(), label);
        const alone = async (label: string) => {
          inside += 1;
          expect(inside).toBe(1);
          await turn(label);
          inside -= 1;
        };
        const take = async (signal?: AbortSignal) => {
          await turn('comes to take');
          using lock = await mutex.lock();
          while (buffer.length === 0) await notEmpty.wait(lock, { signal });
          mutex.assertHeldBy(lock);
          await alone('takes');
          taken.push(buffer.shift() as number);
          notFull.notify();
        };
        const put = async (value: number) => {
          await turn('comes to put');
          using lock = await mutex.lock();
          await notFull.waitFor(lock, () => buffer.length < capacity);
          mutex.assertHeldBy(lock);
          await alone('puts');
          buffer.push(value);
          notEmpty.notify();
        };
        const all: Promise<unknown>[] = [];
        let gone = 0;
        for (const turns of impatient) {
          const controller = new AbortController();
          const leaves = take(controller.signal).catch((reason) => {
            expect(reason).toBe('gone');
            gone += 1;
          });
          const abort = async () => {
            for (let n = 0; n <= turns; n++) await turn('thinks again');
            controller.abort('gone');
          };
          all.push(leaves, abort());
        }
        for (const _ of consumers) all.push(take());
        // The consumers that do not give up take their share; one that gives up may have taken a value before.
        const total = consumers.length + impatient.length;
        for (let value = 0; value < total; value++) all.push(put(value).catch(() => {}));
        await scheduler.waitIdle();
        expect(taken.length).toBe(total - gone);
        // The other producers wait for space: what is left is in the buffer or waits.
        expect(buffer.length).toBe(Math.min(gone, capacity));
        expect(notEmpty.waiting).toBe(0);
        mutex.close();
        await Promise.all(all);
        expect(mutex.locked).toBe(false);
      },
    ),
    { numRuns: 500 },
  );
});
