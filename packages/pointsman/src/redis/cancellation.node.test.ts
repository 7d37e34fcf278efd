/**
 * Giving up leaves no trace: at whatever point of its way to the lock somebody gives up, afterwards
 * nothing is held or queued on the server, and the next waiter is served.
 */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { soon, untilHeld, untilWaiting, useServer, watch, ways } from '../../tests/redis/scene.js';
import { type RedisGuard, type RedisMutex, TimeoutError } from './index.js';

const scene = useServer();
const reason = new Error('enough');

/** Nothing is left of whoever gave up, the key is free, and all of it ends with its processes. */
async function expectNoTrace(signal: AbortSignal | undefined, ...mutexes: RedisMutex[]) {
  const [mutex] = mutexes as [RedisMutex];
  await untilHeld(mutex);
  for (const each of mutexes) {
    const guard = await each.lock(['k', 'l'], { timeout: 4_000 });
    expect(guard.valid).toBe(true);
    await guard.release();
  }
  await untilHeld(mutex);
  if (signal !== undefined) expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  await Promise.all(mutexes.map((each) => each.close()));
  await expect.poll(() => scene.keys(), soon).toEqual([]);
}

/** Waits until the server has granted or queued something that nobody has heard of yet. */
async function untilTaken(observer: RedisMutex) {
  await expect.poll(async () => (await observer.query()).held.length, soon).toBe(1);
}

describe.each(ways)('$handler, $mode', (way) => {
  test('aborted before it asks: nothing is sent, no connection is made', async () => {
    const mutex = await scene.process(way);
    const signal = AbortSignal.abort(reason);
    await expect(mutex.lock('k', { signal })).rejects.toBe(reason);
    await expect(mutex.run('k', () => expect.unreachable(), { signal })).rejects.toBe(reason);
    expect(mutex.metrics.batches).toBe(0);
    await expectNoTrace(signal, mutex);
  });

  test('aborted in the tick in which it asks: nothing is asked for', async () => {
    const mutex = await scene.process(way);
    const controller = new AbortController();
    const { signal } = controller;
    const locked = mutex.lock('k', { signal });
    controller.abort(reason);
    await expect(locked).rejects.toBe(reason);
    await expectNoTrace(signal, mutex);
  });

  test('aborted while connecting', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    proxy.holdReplies();
    const controller = new AbortController();
    const { signal } = controller;
    const locked = watch(mutex.lock('k', { signal }));
    await expect.poll(() => proxy.connections, soon).toBe(2);
    controller.abort(reason);
    await expect(locked.promise).rejects.toBe(reason);
    proxy.letGo();
    await expectNoTrace(signal, mutex);
  });

  test('timed out while connecting', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    proxy.holdReplies();
    await expect(mutex.lock('k', { timeout: 30 })).rejects.toThrow(TimeoutError);
    proxy.letGo();
    await expectNoTrace(undefined, mutex);
  });

  test('aborted while the server is asked, which has granted it', async () => {
    const { proxy, mutex } = await scene.disturbed({ ...way, handler: 'script' });
    const observer = await scene.process(way);
    await mutex.run('other', () => {});
    await untilHeld(observer);
    proxy.holdReplies();
    const controller = new AbortController();
    const { signal } = controller;
    const locked = watch(mutex.lock('k', { signal }));
    await untilTaken(observer);
    controller.abort(reason);
    await expect(locked.promise).rejects.toBe(reason);
    proxy.letGo();
    await expectNoTrace(signal, mutex, observer);
  });

  test('aborted while the server is asked, which has queued it', async () => {
    const { proxy, mutex } = await scene.disturbed({ ...way, handler: 'script' });
    const other = await scene.process(way);
    await mutex.run('other', () => {});
    const held = await other.lock('k');
    proxy.holdReplies();
    const controller = new AbortController();
    const { signal } = controller;
    const locked = watch(mutex.lock('k', { signal }));
    await untilWaiting(other, 1);
    controller.abort(reason);
    await expect(locked.promise).rejects.toBe(reason);
    proxy.letGo();
    await untilWaiting(other, 0);
    await held.release();
    await expectNoTrace(signal, mutex, other);
  });

  test('aborted while it waits for a task of its process', async () => {
    const mutex = await scene.process(way);
    const controller = new AbortController();
    const { signal } = controller;
    const held = await mutex.lock('k');
    const waiter = watch(mutex.lock(['k', 'l'], { signal }));
    const next = watch(mutex.lock('l'));
    await mutex.query();
    controller.abort(reason);
    await expect(waiter.promise).rejects.toBe(reason);
    await (await next.promise).release();
    await held.release();
    await expectNoTrace(signal, mutex);
  });

  test('aborted while it waits at the server', async () => {
    const [holder, mutex] = [await scene.process(way), await scene.process(way)];
    const controller = new AbortController();
    const { signal } = controller;
    const held = await holder.lock('k');
    const waiter = watch(mutex.lock(['k', 'l'], { signal }));
    await untilWaiting(holder, 1);
    const next = watch(holder.lock('l'));
    controller.abort(reason);
    await expect(waiter.promise).rejects.toBe(reason);
    await (await next.promise).release();
    await untilHeld(holder, 'k');
    await held.release();
    await expectNoTrace(signal, mutex, holder);
  });

  test('timed out while it waits, here and at the server', async () => {
    const [holder, mutex] = [await scene.process(way), await scene.process(way)];
    const held = await holder.lock('k');
    const late = [holder, mutex].map((each) => watch(each.lock('k', { timeout: 30 })));
    for (const { promise } of late) await expect(promise).rejects.toThrow(TimeoutError);
    await untilHeld(holder, 'k');
    await held.release();
    await expectNoTrace(undefined, mutex, holder);
  });

  test('aborted when the grant is on its way: the lock goes on to the next', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    const [holder, third] = [await scene.process(way), await scene.process(way)];
    const controller = new AbortController();
    const { signal } = controller;
    const held = await holder.lock('k');
    const waiter = watch(mutex.lock('k', { signal }));
    await untilWaiting(holder, 1);
    const next = watch(third.lock('k'));
    await untilWaiting(holder, 2);
    proxy.holdReplies();
    await held.release();
    await untilWaiting(holder, 1);
    expect(next.state).toBe('pending');
    controller.abort(reason);
    await expect(waiter.promise).rejects.toBe(reason);
    proxy.letGo();
    await (await next.promise).release();
    await expectNoTrace(signal, mutex, holder, third);
  });

  test('timed out when the grant is on its way', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    const holder = await scene.process(way);
    const held = await holder.lock('k');
    const waiter = watch(mutex.lock('k', { timeout: 150 }));
    await untilWaiting(holder, 1);
    proxy.holdReplies();
    await held.release();
    await expect(waiter.promise).rejects.toThrow(TimeoutError);
    proxy.letGo();
    await expectNoTrace(undefined, mutex, holder);
  });

  test('aborted after the grant: the lock is kept', async () => {
    const mutex = await scene.process(way);
    const controller = new AbortController();
    const { signal } = controller;
    const guard = await mutex.lock('k', { signal, timeout: 1_000 });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    controller.abort(reason);
    expect(guard.valid).toBe(true);
    expect(guard.signal.aborted).toBe(false);
    await guard.release();
    await expectNoTrace(signal, mutex);
  });

  test('a timeout of 0 takes what is free and waits for nothing', async () => {
    const [mutex, other] = [await scene.process(way), await scene.process(way)];
    const guard = await mutex.lock('k', { timeout: 0 });
    expect(guard.valid).toBe(true);
    for (const each of [mutex, other]) {
      await expect(each.lock(['k', 'l'], { timeout: 0 })).rejects.toThrow('timed out after 0 ms');
    }
    await untilHeld(mutex, 'k');
    await guard.release();
    await expectNoTrace(undefined, mutex, other);
  });

  test('all of a hundred waiters are aborted by one signal', async () => {
    const [holder, mutex] = [await scene.process(way), await scene.process(way)];
    const controller = new AbortController();
    const { signal } = controller;
    const held = await holder.lock('k');
    const waiters = Array.from({ length: 100 }, (_, n) =>
      watch((n % 2 ? mutex : holder).lock(n % 3 ? 'k' : ['k', 'l'], { signal })),
    );
    await expect.poll(async () => (await holder.query()).waiting.length, soon).not.toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort(reason);
    for (const { promise } of waiters) await expect(promise).rejects.toBe(reason);
    await untilHeld(holder, 'k');
    await held.release();
    await expectNoTrace(signal, mutex, holder);
  });

  test('aborts at random points lose nothing', async () => {
    const mutexes = [await scene.process(way), await scene.process(way)];
    await mutexes[0]?.query();
    const inside = new Set<RedisGuard>();
    let entered = 0;
    const attempt = async (n: number) => {
      const controller = new AbortController();
      if (n % 10 > 0) setTimeout(() => controller.abort(reason), n % 61);
      const mutex = mutexes[n % 2] as RedisMutex;
      const { signal } = controller;
      const guard = await mutex.lock(n % 5 ? 'k' : ['k', 'l'], { signal }).catch((error) => {
        expect(error).toBe(reason);
      });
      if (!guard) return;
      expect(inside.size).toBe(0);
      inside.add(guard);
      entered++;
      await new Promise((resolve) => setTimeout(resolve, n % 3));
      inside.delete(guard);
      await guard.release();
    };
    await Promise.all(Array.from({ length: 150 }, (_, n) => attempt(n)));
    expect(entered).toBeGreaterThanOrEqual(15);
    await expectNoTrace(undefined, ...mutexes);
  });
});
