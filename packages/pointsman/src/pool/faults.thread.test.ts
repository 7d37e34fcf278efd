/** A thread that comes to its end takes one task with it; all others run, once, and the next is fine. */
import { describe, expect, test, vi } from 'vitest';
import {
  inNode,
  type Opened,
  open,
  openWarm,
  range,
  reasonOf,
  startNothing,
  until,
  warm,
} from '../../tests/pool/pools.js';
import { Pool, ThreadEndedError } from './index.js';

/** Whether `resourceLimits` bound a thread: Deno and Bun pass over them, and the thread takes all there is. */
const boundsMemory = inNode && !('Deno' in globalThis || 'Bun' in globalThis);

/** Tasks all around the one that `fault` runs: what becomes of them. */
async function around(
  opened: Opened,
  threads: number,
  fault: (before: Promise<unknown>) => Promise<unknown>,
) {
  const { pool, board } = opened;
  for (let n = 0; n < 5; n++) await Promise.all(range(200).map((n) => pool.run('echo', [n])));
  const bystander = board.gate();
  const held =
    threads > 1 ? pool.run('holdLoosely', [bystander.number, 'held']) : Promise.resolve('held');
  const words = range(40).map(() => board.take());
  const before = words.slice(0, 20).map((word) => pool.run('count', [word]));
  const outcome = fault(Promise.all(before)).catch((error: unknown) => error);
  const after = words.slice(20).map((word) => pool.run('count', [word]));
  const result = await outcome;
  bystander.open();
  expect(await held).toBe('held');
  await Promise.all([...before, ...after]);
  expect(words.map((word) => board.at(word))).toEqual(words.map(() => 1));
  expect(await pool.run('echo', ['fine'])).toBe('fine');
  await until(() => pool.waiting + pool.running === 0);
  return result;
}

describe.each([1, 2])('of %i threads', (threads) => {
  test('one throws', async () => {
    const opened = await openWarm({ threads });
    const error = await around(opened, threads, () => opened.pool.run('throws.error'));
    expect(error).toMatchObject({ name: 'RangeError', message: 'out of range' });
    expect(opened.pool.metrics).toMatchObject({
      failed: 1,
      threadsLost: 0,
      threadsStarted: threads,
    });
  });

  test.each([0, 3])('one exits with %i', async (code) => {
    const opened = await openWarm({ threads });
    const { pool, board } = opened;
    const gate = board.gate();
    gate.open();
    const error = await around(opened, threads, () => pool.run('holdAndExit', [gate.number, code]));
    expect(error).toBeInstanceOf(ThreadEndedError);
    expect(error).toMatchObject({
      name: 'ThreadEndedError',
      message: expect.stringMatching(/^the thread that ran holdAndExit\(\) has ended/),
      exitCode: inNode ? code : undefined,
    });
    expect(gate.ended).toBe(1);
    expect(pool.metrics).toMatchObject({ failed: 1, cancelled: 0, threadsLost: 1 });
  });

  test.skipIf(!boundsMemory)(
    'one runs out of memory',
    async () => {
      const opened = await openWarm({ threads, resourceLimits: { maxOldGenerationSizeMb: 24 } });
      const error = await around(opened, threads, () => opened.pool.run('outOfMemory'));
      expect(error).toBeInstanceOf(ThreadEndedError);
      expect((error as Error).cause).toMatchObject({ code: 'ERR_WORKER_OUT_OF_MEMORY' });
    },
    20_000,
  );

  test.each(['abort', 'runTimeout'])('one never ends: %s', async (by) => {
    const opened = await openWarm({ threads, grace: 10 });
    const { pool, board } = opened;
    const gate = board.gate();
    const controller = new AbortController();
    const error = await around(opened, threads, async () => {
      const signal = controller.signal;
      const options = by === 'abort' ? { signal } : { runTimeout: 200 };
      const task = pool.run('loop', [gate.number], options);
      const handled = reasonOf(task);
      await until(() => gate.begun === 1);
      if (by === 'abort') controller.abort('too long');
      throw await handled;
    });
    if (by === 'abort') expect(error).toBe('too long');
    else expect(error).toMatchObject({ name: 'TimeoutError' });
    expect(pool.metrics).toMatchObject({ failed: 0, cancelled: 1, threadsLost: 0 });
  });

  test('one has an unhandled rejection while it runs', async () => {
    const opened = await openWarm({ threads });
    const { pool } = opened;
    const threadsBefore = pool.metrics.threadsStarted;
    const error = await around(opened, threads, () => pool.run('rejectMeanwhile'));
    expect(error).toMatchObject({ name: 'Error', message: 'not handled' });
    await warm(opened, threads);
    // The thread cannot be trusted any more.
    expect(pool.metrics.threadsStarted).toBe(threadsBefore + 1);
    expect(pool.metrics).toMatchObject({ failed: 1, threadsLost: 0 });
  });

  // Of two it may be the one that has another task.
  test.skipIf(threads > 1)('a worker is terminated from outside', async () => {
    const opened = await openWarm({ threads });
    const { pool, board, workers } = opened;
    const gate = board.gate();
    const error = await around(opened, threads, async (before) => {
      // Each thread has one of them; the gate lets go of those that live.
      const held = range(threads).map(() => pool.run('holdLoosely', [gate.number]));
      const outcomes = Promise.allSettled(held);
      await until(() => gate.begun >= 1);
      // A browser discards a thread's undelivered messages when it ends the thread.
      await before;
      workers[0]?.terminate();
      await until(() => pool.metrics.threadsLost === 1);
      gate.open();
      const lost = (await outcomes).filter(({ status }) => status === 'rejected');
      throw (lost[0] as PromiseRejectedResult | undefined)?.reason ?? 'none';
    });
    // It may have been the one that had nothing to do with the gate.
    if (error !== 'none') expect(error).toBeInstanceOf(ThreadEndedError);
    expect(pool.metrics.threadsLost).toBe(1);
  });
});

test('a thread that ends while it has nothing to do is replaced when there is work', async () => {
  const { pool, workers } = await openWarm();
  workers[0]?.terminate();
  await until(() => pool.metrics.threadsLost === 1);
  expect(pool.threads).toBe(0);
  expect(await pool.run('echo', [1])).toBe(1);
  expect(pool.metrics).toMatchObject({ threadsStarted: 2, failed: 0 });
});

test.each(['rejectAfterwards', 'throwAfterwards'] as const)(
  'a failure after the task: %s touches no other task, and its thread is replaced',
  async (name) => {
    const { pool, board } = await openWarm();
    const thread = await pool.run('who');
    const gate = board.gate();
    expect(await pool.run(name, [gate.number])).toBe('over');
    expect(await pool.run('who')).toBe(thread);
    gate.open();
    const error = vi.spyOn(console, 'error').mockImplementation(() => {});
    while ((await pool.run('who')) === thread);
    expect(pool.metrics.threadsStarted).toBe(2);
    error.mockRestore();
    const values = range(20).map((n) => pool.run('echo', [n]));
    expect(await Promise.all(values)).toEqual(range(20));
    expect(pool.metrics).toMatchObject({ failed: 0, threadsLost: 0 });
  },
);

test('many exits, one after the other and all at once', async () => {
  const { pool, board } = await open({ threads: 2 });
  const outcomes = range(30).map((n) => {
    if (n % 3 !== 0) return pool.run('write', [n]);
    return pool.run('exit', [n]).catch((error: unknown) => error);
  });
  const results = await Promise.all(outcomes);
  for (const [n, result] of results.entries()) {
    if (n % 3 !== 0) expect(result).toBe(n);
    // In a browser the task goes on to its end, and gives nothing.
    else if (inNode) expect(result).toBeInstanceOf(ThreadEndedError);
  }
  expect([...board.log].sort((a, b) => a - b)).toEqual(range(30).filter((n) => n % 3 !== 0));
}, 20_000);

describe('a thread that cannot be started', () => {
  test('its script is not there', async () => {
    const pool = new Pool({ worker: () => startNothing(), threads: 2 });
    const tasks = range(3).map(() => reasonOf(pool.run('echo')));
    for (const error of await Promise.all(tasks)) {
      expect(error).toBeInstanceOf(ThreadEndedError);
      expect((error as Error).message).toMatch(/^no thread can be started: /);
      expect((error as Error).cause).toBeInstanceOf(Error);
    }
    // Each task tries again.
    expect(await reasonOf(pool.run('echo'))).toBeInstanceOf(ThreadEndedError);
    expect([pool.waiting, pool.running]).toEqual([0, 0]);
    await pool.close();
  });

  test('its factory throws', async () => {
    const pool = new Pool({
      worker() {
        throw new RangeError('no worker today');
      },
    });
    expect(await reasonOf(pool.run('echo'))).toMatchObject({
      name: 'ThreadEndedError',
      message: 'no thread can be started: no worker today',
      cause: { name: 'RangeError' },
    });
    expect([pool.waiting, pool.threads]).toEqual([0, 0]);
    await pool.close();
  });

  test('its factory returns something else', async () => {
    const pool = new Pool({ worker: (() => ({ postMessage() {} })) as never });
    const error = (await reasonOf(pool.run('echo'))) as Error;
    expect(error.message).toBe(
      'no thread can be started: what worker() returns must be a Worker with postMessage and terminate, got object',
    );
    expect(error.cause).toBeInstanceOf(TypeError);
    await pool.close();
  });
});
