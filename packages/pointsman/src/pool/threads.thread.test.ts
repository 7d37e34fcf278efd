/** How many threads there are: none before there is work, no more than it takes, and none for long without. */
import { describe, expect, test } from 'vitest';
import { inNode, open, openWarm, range, reasonOf, until, warm } from '../../tests/pool/pools.js';

describe('threads start', () => {
  test('when there is work, one for each task at a time', async () => {
    const { pool, board } = await open({ threads: 3 });
    expect([pool.threads, pool.metrics.threadsStarted]).toEqual([0, 0]);
    const gate = board.gate();
    const first = pool.run('hold', [gate.number]);
    expect(pool.threads).toBe(1);
    await until(() => gate.begun === 1);
    expect(pool.threads).toBe(1);
    const others = range(5).map(() => pool.run('hold', [gate.number]));
    await until(() => gate.begun === 3);
    expect([pool.threads, pool.running, pool.waiting]).toEqual([3, 3, 3]);
    gate.open();
    await Promise.all([first, ...others]);
    expect(pool.metrics.threadsStarted).toBe(3);
  });

  test('with the pool, as many as it keeps', async () => {
    const { pool } = await open({ threads: 3, minThreads: 2 });
    expect([pool.threads, pool.metrics.threadsStarted]).toEqual([2, 2]);
    await pool.run('echo', [1]);
    expect(pool.metrics).toMatchObject({ threadsStarted: 2, threadsLost: 0 });
  });

  test('not for a task that a thread with nothing to do can have', async () => {
    const { pool } = await open({ threads: 4 });
    for (let n = 0; n < 20; n++) await pool.run('echo', [n]);
    expect(pool.threads).toBe(1);
  });

  test('each runs its own tasks at the same time', async () => {
    const opened = await open({ threads: 3 });
    const { pool, board } = opened;
    await warm(opened, 3);
    // Each waits for all.
    const gates = range(3).map(() => board.gate());
    const tasks = gates.map((gate) => pool.run('hold', [gate.number]));
    await until(() => gates.every(({ begun }) => begun === 1));
    for (const gate of gates) gate.open();
    await Promise.all(tasks);
  });
});

describe('threads end', () => {
  test('not while what a task has returned is being called', async () => {
    const { pool, board } = await openWarm({ threads: 2, idleTimeout: 1 });
    const gate = board.gate();
    const hold = await pool.run('holder', [gate.number]);
    const held = hold();
    await until(() => gate.begun === 1 && pool.threads === 1);
    // The other has ended for want of tasks; this one's turn would be next.
    const other = await openWarm({ idleTimeout: 1 });
    await until(() => other.pool.threads === 0);
    gate.open();
    expect(await held).toBe('held');
    await until(() => pool.threads === 0);
  });

  test('that had nothing to do for long, but for the fewest', async () => {
    const opened = await openWarm({ threads: 3, minThreads: 1, idleTimeout: 5 });
    const { pool } = opened;
    await until(() => pool.threads === 1);
    const thread = await pool.run('who');
    // The one that is left stays.
    const now = performance.now();
    await until(() => performance.now() > now + 30);
    expect([pool.threads, await pool.run('who')]).toEqual([1, thread]);
    await warm(opened, 3);
    expect(pool.metrics).toMatchObject({ threadsLost: 0 });
    expect(pool.metrics.threadsStarted).toBeGreaterThanOrEqual(5);
  });

  test('all of them by default, and start again when there is work', async () => {
    const { pool } = await openWarm({ threads: 2, idleTimeout: 300 });
    await until(() => pool.threads === 0);
    expect(await pool.run('echo', [1])).toBe(1);
    expect(pool.metrics).toMatchObject({ threadsStarted: 3, threadsLost: 0 });
  });

  test('not while they work', async () => {
    const { pool, board } = await openWarm({ threads: 2, idleTimeout: 1 });
    const gate = board.gate();
    const held = pool.run('holdLoosely', [gate.number, 'held']);
    await until(() => gate.begun === 1 && pool.threads === 1);
    const now = performance.now();
    await until(() => performance.now() > now + 20);
    expect(pool.threads).toBe(1);
    gate.open();
    expect(await held).toBe('held');
    await until(() => pool.threads === 0);
  });

  test('and no task is lost with them', async () => {
    const { pool } = await open({ threads: 2, idleTimeout: 1 });
    for (let n = 0; n < 60; n++) {
      expect(await pool.run('echo', [n])).toBe(n);
      // About when the thread is ended.
      const now = performance.now();
      await until(() => performance.now() > now + (n % 4));
    }
    expect(pool.metrics).toMatchObject({ completed: 60, failed: 0, threadsLost: 0 });
  });
});

describe('threads are replaced', () => {
  test('after a given number of tasks', async () => {
    const { pool, board } = await open({ threads: 2, recycle: { tasks: 5 } });
    const words = board.take(100);
    await Promise.all(range(100).map((n) => pool.run('count', [words + n])));
    expect(range(100).map((n) => board.at(words + n))).toEqual(range(100).map(() => 1));
    const { threadsStarted, threadsLost, completed, failed } = pool.metrics;
    expect([threadsLost, completed, failed]).toEqual([0, 100, 0]);
    expect(threadsStarted).toBeGreaterThan(2);
    // No thread lives for more than these, beside those that it had ahead.
    const threads = new Map<number, number>();
    for (let n = 0; n < 40; n++) {
      const thread = await pool.run('who');
      threads.set(thread, (threads.get(thread) ?? 0) + 1);
    }
    expect(Math.max(...threads.values())).toBeLessThanOrEqual(5);
    expect(threads.size).toBeGreaterThanOrEqual(8);
  }, 20_000);

  test('by age', async () => {
    const { pool } = await open({ recycle: { age: 1 } });
    const threads = new Set<number>();
    for (let n = 0; n < 5; n++) threads.add(await pool.run('who'));
    expect(threads.size).toBe(5);
    expect(pool.metrics).toMatchObject({ completed: 5, threadsLost: 0 });
  });

  // Elsewhere a thread does not know its heap.
  test.skipIf(!inNode)('by heap', async () => {
    const { pool } = await openWarm({ recycle: { heap: 1 } });
    const thread = await pool.run('who');
    while ((await pool.run('who')) === thread);
    expect(pool.metrics).toMatchObject({ threadsLost: 0, failed: 0 });

    const other = await openWarm({ recycle: { heap: 2 ** 40 } });
    const same = await other.pool.run('who');
    for (let n = 0; n < 50; n++) expect(await other.pool.run('who')).toBe(same);
  });

  test('one that is to be replaced still runs what it has begun', async () => {
    const { pool, board } = await openWarm({ recycle: { tasks: 2 } });
    const [first, second] = [board.gate(), board.gate()];
    const tasks = [pool.run('hold', [first.number]), pool.run('hold', [second.number])];
    await until(() => first.begun === 1);
    first.open();
    await until(() => second.begun === 1);
    await tasks[0];
    expect([pool.running, pool.waiting]).toEqual([1, 0]);
    second.open();
    await Promise.all(tasks);
    expect(pool.metrics).toMatchObject({ completed: 3, threadsLost: 0 });
  });

  test('with failures in between', async () => {
    const { pool, board } = await open({ threads: 2, recycle: { tasks: 3 } });
    const outcomes = range(60).map((n) =>
      n % 5 === 0 ? reasonOf(pool.run('throws.error')) : pool.run('write', [n]),
    );
    await Promise.all(outcomes);
    expect([...board.log].sort((a, b) => a - b)).toEqual(range(60).filter((n) => n % 5 !== 0));
  }, 20_000);
});
