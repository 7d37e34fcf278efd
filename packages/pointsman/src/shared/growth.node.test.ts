/** Ended locks leave no memory, listeners or timers behind. */
import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { handlers, soon, untilHeld, useServer, ways } from '../../tests/redis/scene.js';
import type { SharedMutex } from './index.js';

const scene = useServer();
const reason = new Error('enough');

const timers = () =>
  process.getActiveResourcesInfo().filter((resource) => /Timeout|Immediate/.test(resource)).length;

/** Locks random keys; cancels every third request. */
async function attempt(mutex: SharedMutex, n: number): Promise<void> {
  const controller = new AbortController();
  const keys = n % 4 ? `key-${(n * 7919) % 500}` : [`key-${n % 500}`, `key-${(n * 31) % 500}`];
  const locked = mutex.lock(keys, { signal: controller.signal, timeout: 60_000 });
  if (n % 3 === 0) queueMicrotask(() => controller.abort(reason));
  else if (n % 3 === 1) setImmediate(() => controller.abort(reason));
  const guard = await locked.catch((error) => {
    if (error !== reason) throw error;
  });
  await guard?.release();
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
}

describe.each(ways)('$handler, $mode', (way) => {
  // Each batch of the handler `pure` reads the whole namespace.
  const times = way.handler === 'script' ? 10_000 : 1_000;

  test(`after ${times} locks and aborts nothing is left in the process or on the server`, async () => {
    const mutex = await scene.process(way);
    const armed = timers();
    for (let n = 0; n < times; n += 250) {
      await Promise.all(Array.from({ length: 250 }, (_, i) => attempt(mutex, n + i)));
    }
    await untilHeld(mutex);
    await mutex.close();
    await expect.poll(() => scene.keys(), soon).toEqual([]);
    await expect.poll(timers, soon).toBeLessThanOrEqual(armed);
  });

  test('a shared signal has no listeners after the last request', async () => {
    const mutex = await scene.process(way);
    const { signal } = new AbortController();
    const work = async (n: number) => {
      await mutex.run(`key-${n % 7}`, () => {}, { signal });
      expect(await mutex.lock(`key-${n % 7}`, { signal, timeout: 0 }).catch(() => 0)).toBeDefined();
    };
    await Promise.all(Array.from({ length: 50 }, (_, n) => work(n)));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

test.each(handlers)('the server forgets idle processes, %s', async (handler) => {
  const mutex = await scene.process({ handler, ttl: 100 });
  await mutex.run(['a', 'b'], () => {});
  expect(await scene.keys()).not.toEqual([]);
  await expect.poll(() => scene.keys(), soon).toEqual([]);
  await expect
    .poll(() => scene.server.command('PUBSUB', 'CHANNELS', `{${scene.namespace}}:`), soon)
    .toEqual([]);
  expect(await mutex.run(['a', 'b'], () => 'again')).toBe('again');
});

test('forty thousand waiters on one signal have one listener', async () => {
  const mutex = await scene.process();
  const controller = new AbortController();
  const { signal } = controller;
  const listen = vi.spyOn(signal, 'addEventListener');
  const held = await mutex.lock('k');
  const waits = Array.from({ length: 40_000 }, () => mutex.lock('k', { signal }));
  expect(listen).toHaveBeenCalledTimes(1);
  controller.abort('enough');
  const results = await Promise.allSettled(waits);
  expect(results.every((result) => 'reason' in result && result.reason === 'enough')).toBe(true);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  await held.release();
});

test('a condition leaves no listener and no timer', async () => {
  const mutex = await scene.process();
  const { signal } = new AbortController();
  const armed = timers();
  await mutex.run('k', async (guard) => {
    await mutex.condition('c').wait(guard, { signal, timeout: 20 });
  });
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  await mutex.close();
  await expect.poll(timers, soon).toBeLessThanOrEqual(armed);
});
