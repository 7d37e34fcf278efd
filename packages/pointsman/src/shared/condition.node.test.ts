/** Condition variables: no notification is missed, and after a wait the lock is held again. */
import { describe, expect, test, vi } from 'vitest';
import {
  short,
  soon,
  storeWays,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import { ClosedError, LockLostError, type SharedMutex } from './index.js';

const scene = useServer();

/** Waits until this many requests are parked at the condition. */
async function untilParked(mutex: SharedMutex, name: string, count: number) {
  const parked = async () =>
    (await mutex.query()).waiting.filter(({ condition }) => condition === name).length;
  await expect.poll(parked, soon).toBe(count);
}

describe.each(storeWays)('$handler, $mode', (way) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(way.handler === 'host');
  test('a waiter releases its lock, and holds it again after a notification', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const guard = await a.lock(['k', 'l']);
    const { token } = guard;
    const waiter = watch(a.condition('c').wait(guard));
    await untilParked(b, 'c', 1);
    expect(guard.valid).toBe(false);
    const other = await b.lock(['k', 'l']);
    expect(await b.condition('c').notify()).toBe(1);
    expect(waiter.state).toBe('pending');
    await other.release();
    expect(await waiter.promise).toBe(true);
    expect(guard).toMatchObject({ keys: ['k', 'l'], valid: true, released: false });
    expect(guard.token).toBeGreaterThan(other.token);
    expect(other.token).toBeGreaterThan(token);
    await untilHeld(b, 'k', 'l');
    await guard.release();
    expect(guard.released).toBe(true);
    await untilHeld(b);
  });

  test('notify wakes up to count waiters, FIFO; notifyAll wakes the rest', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const woken: number[] = [];
    const waiters = [];
    for (let n = 0; n < 5; n++) {
      const mutex = n % 2 ? a : b;
      waiters.push(
        mutex.run('k', async (guard) => {
          await mutex.condition('c').wait(guard);
          woken.push(n);
        }),
      );
      await untilParked(a, 'c', n + 1);
    }
    expect(await b.condition('c').notify()).toBe(1);
    await expect.poll(() => woken, soon).toEqual([0]);
    expect(await a.condition('c').notify(2)).toBe(2);
    await expect.poll(() => woken, soon).toEqual([0, 1, 2]);
    expect(await a.condition('other').notifyAll()).toBe(0);
    expect(await a.condition('c').notifyAll()).toBe(2);
    await Promise.all(waiters);
    expect(woken).toEqual([0, 1, 2, 3, 4]);
    expect(await a.condition('c').notify()).toBe(0);
    await untilHeld(a);
  });

  test('notifications given under the lock are never missed', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    await a.query();
    const items: number[] = [];
    const taken: number[] = [];
    const consume = async (mutex: SharedMutex, count: number) => {
      for (let i = 0; i < count; i++) {
        await mutex.run('items', async (guard) => {
          while (items.length === 0) await mutex.condition('not-empty').wait(guard);
          taken.push(items.shift() as number);
        });
      }
    };
    const produce = async (mutex: SharedMutex, from: number, count: number) => {
      for (let i = from; i < from + count; i++) {
        await mutex.run('items', async () => {
          items.push(i);
          await mutex.condition('not-empty').notify();
        });
      }
    };
    await Promise.all([consume(a, 10), consume(b, 10), produce(a, 0, 10), produce(b, 10, 10)]);
    expect(taken.sort((x, y) => x - y)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    await untilHeld(a);
  });

  test('after its timeout a wait resolves with the lock held', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('k');
    expect(await mutex.condition('c').wait(guard, { timeout: 30 })).toBe(false);
    expect(guard.valid).toBe(true);
    expect(await mutex.condition('c').notify()).toBe(0);
    await guard.release();
    await untilHeld(mutex);
  });

  test('a wait that has timed out still waits for its lock', async () => {
    const [a, b] = [await scene.process(way), await scene.process(way)];
    const guard = await a.lock('k');
    const locking = b.lock('k');
    await untilWaiting(b, 1);
    const waiter = watch(a.condition('c').wait(guard, { timeout: 30 }));
    const other = await locking;
    await untilParked(b, 'c', 0);
    expect(waiter.state).toBe('pending');
    await other.release();
    expect(await waiter.promise).toBe(false);
    expect(guard.valid).toBe(true);
  });

  test('an aborted wait rejects with the reason, and the lock is held', async () => {
    const mutex = await scene.process(way);
    const reason = new Error('enough');
    const controller = new AbortController();
    const guard = await mutex.lock('k');
    const waiter = watch(mutex.condition('c').wait(guard, { signal: controller.signal }));
    await untilParked(mutex, 'c', 1);
    controller.abort(reason);
    await expect(waiter.promise).rejects.toBe(reason);
    expect(guard.valid).toBe(true);
    await guard.release();
    await untilHeld(mutex);
  });

  test('aborted before the call: nothing changes', async () => {
    const mutex = await scene.process(way);
    const reason = new Error('enough');
    const guard = await mutex.lock('k');
    const { token } = guard;
    const signal = AbortSignal.abort(reason);
    await expect(mutex.condition('c').wait(guard, { signal })).rejects.toBe(reason);
    expect(guard).toMatchObject({ valid: true, token });
  });

  test('a guard that is not valid cannot wait', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('k');
    await guard.release();
    await expect(mutex.condition('c').wait(guard)).rejects.toThrow(LockLostError);
    expect(await mutex.condition('c').notify()).toBe(0);
  });

  test('a lock that is lost while the waiter is being parked rejects', async () => {
    const mutex = await scene.process(way);
    const guard = await mutex.lock('k', { maxHold: 10_000 });
    const parked = watch(mutex.condition('c').wait(guard));
    // The reply arrives after the operation was sent, so the loss comes first.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 20_000);
    const { reason } = guard.signal;
    vi.restoreAllMocks();
    expect(reason).toBeInstanceOf(LockLostError);
    await expect(parked.promise).rejects.toBe(reason);
    expect(guard).toMatchObject({ valid: false, released: false });
    expect(await mutex.condition('c').notify()).toBe(0);
    expect(await mutex.run('k', ({ valid }) => valid)).toBe(true);
    expect(mutex.waiting).toBe(0);
    await untilHeld(mutex);
  });

  test('close rejects waits at a condition', async () => {
    const [mutex, other] = [await scene.process(way), await scene.process(way)];
    const guard = await mutex.lock('k');
    const waiter = watch(mutex.condition('c').wait(guard));
    await untilParked(other, 'c', 1);
    await mutex.close();
    await expect(waiter.promise).rejects.toThrow(ClosedError);
    await untilParked(other, 'c', 0);
    await untilHeld(other);
  });

  onServer('after a loss of the state no waiter waits forever', async () => {
    const mutex = await scene.process({ ...way, ttl: short });
    const guard = await mutex.lock('k');
    const waiter = watch(mutex.condition('c').wait(guard));
    await untilParked(mutex, 'c', 1);
    await scene.server.command('FLUSHALL');
    await waiter.promise;
    expect(guard.valid).toBe(true);
    await guard.release();
    await untilHeld(mutex);
  });

  onServer('lost connections leave a waiter parked or wake it with the lock', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    const other = await scene.process(way);
    const guard = await mutex.lock('k');
    const waiter = watch(mutex.condition('c').wait(guard));
    await untilParked(other, 'c', 1);
    proxy.cut();
    await mutex.query();
    await other.condition('c').notify();
    await waiter.promise;
    expect(guard.valid).toBe(true);
  });

  onServer('a notification for a dead process is passed on to the next waiter', async () => {
    const { proxy, mutex: dying } = await scene.disturbed(way);
    const [next, notifier] = [await scene.process(way), await scene.process(way)];
    const lost = watch(dying.condition('c').wait(await dying.lock('k')));
    await untilParked(notifier, 'c', 1);
    const waiter = watch(next.condition('c').wait(await next.lock('k')));
    await untilParked(notifier, 'c', 2);
    const guard = await notifier.lock('k');
    expect(await notifier.condition('c').notify()).toBe(1);
    // The first waiter is in the queue for its key when its connections end.
    proxy.pointAt(1);
    proxy.cut();
    const subscribers = async () =>
      String(await scene.server.command('CLIENT', 'LIST', 'TYPE', 'pubsub'))
        .trim()
        .split('\n');
    await expect.poll(async () => (await subscribers()).length, soon).toBe(2);
    await guard.release();
    expect(await waiter.promise).toBe(true);
    expect(lost.state).toBe('pending');
  });

  onServer(
    'a notification for a process whose lease has ended is passed on to the next waiter',
    async () => {
      const { proxy, mutex: dying } = await scene.disturbed({ ...way, ttl: short });
      const [next, notifier] = [await scene.process(way), await scene.process(way)];
      void watch(dying.condition('c').wait(await dying.lock('k')));
      await untilParked(notifier, 'c', 1);
      const waiter = watch(next.condition('c').wait(await next.lock('k')));
      await untilParked(notifier, 'c', 2);
      const guard = await notifier.lock('k');
      expect(await notifier.condition('c').notify()).toBe(1);
      proxy.blackhole(true);
      // The dead waiter has left the queue, and the next one has moved there from the condition.
      await expect
        .poll(async () => (await notifier.query()).waiting, soon)
        .toMatchObject([{ condition: undefined }]);
      await guard.release();
      expect(await waiter.promise).toBe(true);
    },
  );
});
