/** What a pool says about itself adds up. */
import { expect, test } from 'vitest';
import { inNode, open, openWarm, range, reasonOf, until } from '../../tests/pool/pools.js';

test('before anything has happened', async () => {
  const { pool } = await open();
  const none = { count: 0, mean: 0, p50: 0, p99: 0, max: 0 };
  expect(pool.metrics).toMatchObject({
    completed: 0,
    failed: 0,
    cancelled: 0,
    queueWait: none,
    runTime: none,
    utilization: 0,
    threadsStarted: 0,
    threadsLost: 0,
  });
});

test('each task is counted once', async () => {
  const { pool, board } = await openWarm({
    threads: 2,
    grace: 0,
    maxWaiting: 50,
    whenFull: 'reject',
  });
  const before = pool.metrics.completed;
  const outcomes = range(40).map((n) => {
    const { signal } = n % 5 === 3 ? { signal: AbortSignal.abort() } : new AbortController();
    if (n % 5 === 0) return pool.run('echo', [n]);
    if (n % 5 === 1) return pool.run('throws.error');
    if (n % 5 === 2) return pool.run('echo', [Symbol('s')]);
    // One that is not taken at all is not counted.
    if (n % 5 === 3) return pool.run('echo', [n], { signal });
    const controller = new AbortController();
    const task = pool.run('echo', [n], { signal: controller.signal });
    controller.abort();
    return task;
  });
  await Promise.allSettled(outcomes);
  const gate = board.gate();
  const controller = new AbortController();
  const looping = reasonOf(pool.run('loop', [gate.number], { signal: controller.signal }));
  await until(() => gate.begun === 1);
  controller.abort();
  await looping;
  for await (const _ of await pool.run('numbers', [5, board.take(2)]));
  const exit = board.gate();
  exit.open();
  await reasonOf(pool.run('holdAndExit', [exit.number, 1]));
  // The thread reports the end of its iterator after the reader has seen it.
  await until(() => pool.metrics.completed - before === 8 + 1);
  const { completed, failed, cancelled } = pool.metrics;
  expect({ completed: completed - before, failed, cancelled }).toEqual({
    completed: 8 + 1,
    failed: 16 + 1,
    cancelled: 8 + 1,
  });
});

test('times are those of the tasks that have ended', async () => {
  const { pool, board } = await open({ threads: 2 });
  const words = board.take(2);
  await Promise.all(range(20).map(() => pool.run('spin', [2, words, words + 1])));
  await reasonOf(pool.run('throws.error'));
  const { queueWait, runTime, utilization } = pool.metrics;
  expect([queueWait.count, runTime.count]).toEqual([21, 21]);
  // Twenty of them have looked at a clock for two milliseconds.
  expect(runTime.p50).toBeGreaterThanOrEqual(1.9);
  expect(runTime.max).toBeGreaterThanOrEqual(runTime.p50);
  expect(runTime.mean).toBeGreaterThan(1.5);
  // The last have waited for those before them.
  expect(queueWait.max).toBeGreaterThanOrEqual(2);
  expect(queueWait.mean).toBeGreaterThan(0);
  expect(utilization).toBeGreaterThan(0);
  expect(utilization).toBeLessThanOrEqual(1);
});

test('the event loop is watched from the first reading on, where that can be done', async () => {
  const { pool } = await open();
  const isWatched = inNode && !('Deno' in globalThis);
  expect(pool.metrics.eventLoopDelay !== undefined).toBe(isWatched);
  if (!isWatched) return;
  // It has to have begun.
  await until(() => (pool.metrics.eventLoopDelay?.max ?? 0) > 0);
  // It is looked at every 20 ms.
  const end = performance.now() + 60;
  while (performance.now() < end);
  await until(() => (pool.metrics.eventLoopDelay?.max ?? 0) >= 20);
  const { mean, p99, max } = pool.metrics.eventLoopDelay as {
    mean: number;
    p99: number;
    max: number;
  };
  expect(mean).toBeGreaterThanOrEqual(0);
  expect(p99).toBeLessThanOrEqual(max * 1.01);
  await pool.close();
  expect(pool.metrics.eventLoopDelay).toBeUndefined();
});

test('nothing is watched if the first reading comes when the pool is closed', async () => {
  const { pool } = await open();
  await pool.close();
  expect(pool.metrics.eventLoopDelay).toBeUndefined();
});
