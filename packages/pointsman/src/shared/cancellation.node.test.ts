/**
 * A cancelled request leaves nothing held or queued on the server, whenever it is cancelled, and the next waiter is
 * served.
 */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import {
  soon,
  storeWays,
  untilHeld,
  untilWaiting,
  useServer,
  watch,
} from '../../tests/redis/scene.js';
import { type SharedMutex, TimeoutError } from './index.js';

const scene = useServer();
const reason = new Error('enough');

/** Expects that nothing is left of the cancelled request, that the key is free, and that closing leaves nothing. */
async function expectNoTrace(signal: AbortSignal | undefined, ...mutexes: SharedMutex[]) {
  const [mutex] = mutexes as [SharedMutex];
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

/** Waits until the server has granted or queued a request whose reply has not arrived. */
async function untilTaken(observer: SharedMutex) {
  await expect.poll(async () => (await observer.query()).held.length, soon).toBe(1);
}

describe.each(storeWays)('$handler, $mode', (way) => {
  /** Of what a server, or the way there, can suffer. */
  const onServer = test.skipIf(way.handler === 'host');
  test('aborted before the call: nothing is sent, and no connection is made', async () => {
    const mutex = await scene.process(way);
    const signal = AbortSignal.abort(reason);
    await expect(mutex.lock('k', { signal })).rejects.toBe(reason);
    await expect(mutex.run('k', () => expect.unreachable(), { signal })).rejects.toBe(reason);
    expect(mutex.metrics.batches).toBe(0);
    await expectNoTrace(signal, mutex);
  });

  test('aborted in the tick of the call: nothing is sent', async () => {
    const mutex = await scene.process(way);
    const controller = new AbortController();
    const { signal } = controller;
    const locked = mutex.lock('k', { signal });
    controller.abort(reason);
    await expect(locked).rejects.toBe(reason);
    await expectNoTrace(signal, mutex);
  });

  onServer('aborted while connecting', async () => {
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

  onServer('timed out while connecting', async () => {
    const { proxy, mutex } = await scene.disturbed(way);
    proxy.holdReplies();
    await expect(mutex.lock('k', { timeout: 30 })).rejects.toThrow(TimeoutError);
    proxy.letGo();
    await expectNoTrace(undefined, mutex);
  });

  onServer('aborted after the server has granted it, before the reply', async () => {
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

  onServer('aborted after the server has queued it, before the reply', async () => {
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

  test('aborted while it waits for a task of the same process', async () => {
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

  test('aborted while it waits on the server', async () => {
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

  test('timed out while it waits, in the process and on the server', async () => {
    const [holder, mutex] = [await scene.process(way), await scene.process(way)];
    const held = await holder.lock('k');
    const late = [holder, mutex].map((each) => watch(each.lock('k', { timeout: 30 })));
    for (const { promise } of late) await expect(promise).rejects.toThrow(TimeoutError);
    await untilHeld(holder, 'k');
    await held.release();
    await expectNoTrace(undefined, mutex, holder);
  });

  onServer('aborted before the grant arrives: the next request gets the lock', async () => {
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

  onServer('timed out before the grant arrives', async () => {
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

  test('a timeout of 0 locks free keys and does not wait', async () => {
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

  test('one signal aborts a hundred waiters', async () => {
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
});
