/** The end of a pool: waiting callers are settled, and nothing is left. */
import { describe, expect, test } from 'vitest';
import {
  collect,
  makeShort,
  open,
  openWarm,
  range,
  reasonOf,
  until,
  warm,
} from '../../tests/pool/pools.js';
import { PoolClosedError, TimeoutError } from './index.js';

describe('close', () => {
  test('rejects waiting tasks, refuses new ones, and lets running ones finish', async () => {
    const { pool, board } = await openWarm({ threads: 2 });
    const gate = board.gate();
    const held = range(2).map(() => pool.run('hold', [gate.number, 'held']));
    await until(() => gate.begun === 2);
    const others = range(20).map((n) => reasonOf(pool.run('write', [n])));
    const closed = pool.close();
    expect(pool.closed).toBe(true);
    others.push(reasonOf(pool.run('write', [100])), reasonOf(collect(pool.map('write', [1]))));
    for (const reason of await Promise.all(others)) {
      expect(reason).toBeInstanceOf(PoolClosedError);
      expect((reason as Error).message).toBe('the pool is closed');
    }
    expect([pool.threads, pool.running, pool.waiting]).toEqual([2, 2, 0]);
    gate.open();
    expect(await Promise.all(held)).toEqual(['held', 'held']);
    await closed;
    expect(pool.threads).toBe(0);
    expect(board.log).toEqual([]);
    expect(pool.metrics).toMatchObject({ completed: 4, failed: 0, cancelled: 20, threadsLost: 0 });
  });

  test('rejects tasks that a thread has ahead, even those that cannot be withdrawn', async () => {
    const opened = await openWarm();
    const { pool, board } = opened;
    await makeShort(opened);
    const gate = board.gate();
    const hold = () => {
      const buffer = new ArrayBuffer(8);
      return pool.run('hold', [gate.number, buffer], { transfer: [buffer] });
    };
    const held = hold();
    const behind = [reasonOf(hold()), reasonOf(pool.run('write', [1]))];
    await until(() => gate.begun === 1);
    const closed = pool.close('closed');
    expect(await Promise.all(behind)).toEqual(['closed', 'closed']);
    gate.open();
    expect(await held).toBeInstanceOf(ArrayBuffer);
    await closed;
    expect([gate.begun, board.log]).toEqual([1, []]);
  });

  test('a task that was run just before it, for which a thread was idle, runs', async () => {
    const { pool, board } = await openWarm({ threads: 2 });
    const tasks = [
      ...range(2).map((n) => pool.run('write', [n])),
      reasonOf(pool.run('write', [2])),
    ];
    expect([pool.running, pool.waiting]).toEqual([2, 1]);
    const closed = pool.close('closed');
    expect((await Promise.all(tasks))[2]).toBe('closed');
    await closed;
    expect(board.log.sort()).toEqual([0, 1]);
  });

  test('its reason rejects waiting and later tasks and callers', async () => {
    const { pool, board } = await openWarm({ maxWaiting: 2 });
    expect(pool.closed).toBe(false);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number, 'held']);
    await until(() => gate.begun === 1);
    const dropped = range(2).map((n) => reasonOf(pool.run('write', [n])));
    const space = reasonOf(pool.waitForSpace());
    const reason = new RangeError('going home');
    const closed = pool.close(reason);
    const refused = [
      ...dropped,
      space,
      reasonOf(pool.run('write', [3])),
      reasonOf(pool.waitForSpace()),
      reasonOf(collect(pool.map('write', [4]))),
    ];
    for (const each of await Promise.all(refused)) expect(each).toBe(reason);
    gate.open();
    expect(await held).toBe('held');
    await closed;
    expect(board.log).toEqual([]);
  });

  test.each([null, 0, 'a text'])('its reason may be %j', async (reason) => {
    const { pool } = await open();
    await pool.close(reason);
    expect(await reasonOf(pool.run('echo', [1]))).toBe(reason);
  });

  test('a second call does nothing', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = pool.run('hold', [gate.number, 'held']);
    await until(() => gate.begun === 1);
    const waiting = reasonOf(pool.run('echo', [1]));
    const closed = pool.close('first');
    expect(pool.close('second')).toBe(closed);
    expect(await reasonOf(pool.run('echo', [1]))).toBe('first');
    gate.open();
    expect(await Promise.all([held, waiting])).toEqual(['held', 'first']);
    await closed;
    expect(pool.close()).toBe(closed);
  });

  test('a reason that comes from a listener of what it drops', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const { signal } = new AbortController();
    let again: Promise<void> | undefined;
    signal.removeEventListener = () => {
      again ??= pool.close('again');
    };
    const dropped = reasonOf(pool.run('echo', [1], { signal }));
    const closed = pool.close('first');
    expect(again).toBe(closed);
    expect(await dropped).toBe('first');
    gate.open();
    await held;
    await closed;
  });

  test('again, and when it has never begun', async () => {
    const { pool } = await open();
    await Promise.all([pool.close(), pool.close()]);
    await pool.close();
    expect(pool.metrics.threadsStarted).toBe(0);
    expect(await reasonOf(pool.run('echo', [1]))).toBeInstanceOf(PoolClosedError);
  });

  test('while its threads start', async () => {
    const { pool } = await open({ threads: 2 });
    const tasks = range(4).map((n) => reasonOf(pool.run('echo', [n])));
    const closed = pool.close('closed');
    expect(await Promise.all(tasks)).toEqual(range(4).map(() => 'closed'));
    await closed;
    expect(pool.threads).toBe(0);
  });

  test('when all that waited for a thread was given up', async () => {
    const { pool } = await open();
    const controller = new AbortController();
    const given = reasonOf(pool.run('echo', [1], { signal: controller.signal }));
    const closed = pool.shutdown();
    controller.abort('now');
    expect(await given).toBe('now');
    await closed;
    expect(pool.threads).toBe(0);
  });

  test('waits for a task that was given up and does not stop yet', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const gate = board.gate();
    const controller = new AbortController();
    const given = reasonOf(pool.run('hold', [gate.number], { signal: controller.signal }));
    await until(() => gate.begun === 1);
    controller.abort('now');
    await given;
    const closed = pool.close();
    gate.open();
    await closed;
    expect(gate.ended).toBe(1);
  });
});

describe('shutdown', () => {
  test('runs all waiting tasks, and refuses new ones', async () => {
    const { pool, board } = await openWarm({ threads: 2 });
    const gate = board.gate();
    const held = range(2).map(() => pool.run('hold', [gate.number]));
    const others = range(20).map((n) => pool.run('write', [n]));
    const space = pool.waitForSpace();
    const ended = [pool.shutdown(), pool.shutdown({ timeout: 60_000 })];
    expect(pool.closed).toBe(true);
    await space;
    for (const refused of [pool.run('write', [100]), collect(pool.map('echo', [1]))]) {
      await expect(refused).rejects.toMatchObject({
        name: 'PoolClosedError',
        message: 'the pool is closed',
      });
    }
    expect(pool.threads).toBe(2);
    gate.open();
    await Promise.all([...held, ...others]);
    await Promise.all(ended);
    expect(pool.threads).toBe(0);
    expect([...board.log].sort((a, b) => a - b)).toEqual(range(20));
    expect(pool.metrics).toMatchObject({ completed: 24, failed: 0, cancelled: 0, threadsLost: 0 });
    await pool.shutdown({ timeout: 0 });
  });

  test('its timeout and its signal bound only the wait of the call', async () => {
    const { pool, board } = await openWarm({ name: 'images' });
    const gate = board.gate();
    const held = pool.run('hold', [gate.number, 'held']);
    await until(() => gate.begun === 1);
    const waiting = range(2).map((n) => pool.run('write', [n]));
    const controller = new AbortController();
    const given = reasonOf(pool.shutdown({ signal: controller.signal }));
    const errors = [0, 5].map((timeout) => reasonOf(pool.shutdown({ timeout })));
    expect(await Promise.all(errors)).toEqual([
      new TimeoutError('images: timed out after 0 ms: 1 active, 2 waiting'),
      new TimeoutError('images: timed out after 5 ms: 1 active, 2 waiting'),
    ]);
    controller.abort('enough');
    expect(await given).toBe('enough');
    expect(await reasonOf(pool.shutdown({ signal: controller.signal }))).toBe('enough');
    expect(await reasonOf(pool.run('write', [9]))).toBeInstanceOf(PoolClosedError);
    const ended = pool.shutdown();
    gate.open();
    expect(await Promise.all([held, ...waiting])).toEqual(['held', 0, 1]);
    await ended;
    expect(board.log).toEqual([0, 1]);
  });

  test('with a signal that has aborted closes the pool too', async () => {
    const { pool } = await open();
    expect(await reasonOf(pool.shutdown({ signal: AbortSignal.abort('before') }))).toBe('before');
    expect(await reasonOf(pool.run('echo', [1]))).toBeInstanceOf(PoolClosedError);
  });

  test('close afterwards rejects the tasks that still wait with its own reason', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = pool.run('hold', [gate.number, 'held']);
    await until(() => gate.begun === 1);
    const waiting = range(2).map((n) => reasonOf(pool.run('write', [n])));
    const ended = pool.shutdown();
    const closed = pool.close('closed');
    expect(await Promise.all(waiting)).toEqual(['closed', 'closed']);
    expect(await reasonOf(pool.run('write', [9]))).toBeInstanceOf(PoolClosedError);
    gate.open();
    expect(await held).toBe('held');
    await Promise.all([ended, closed]);
    expect(board.log).toEqual([]);
  });

  test('terminate afterwards ends it', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const gate = board.gate();
    const looping = reasonOf(pool.run('loop', [gate.number]));
    await until(() => gate.begun === 1);
    expect(await reasonOf(pool.shutdown({ timeout: 1 }))).toBeInstanceOf(TimeoutError);
    const ended = pool.shutdown();
    await pool.terminate('enough');
    expect(await looping).toBe('enough');
    await ended;
    expect(pool.threads).toBe(0);
  });

  test('while its threads start', async () => {
    const { pool } = await open({ threads: 2 });
    const tasks = range(4).map((n) => pool.run('echo', [n]));
    const ended = pool.shutdown();
    expect(await Promise.all(tasks)).toEqual(range(4));
    await ended;
    expect(pool.threads).toBe(0);
  });

  test('after failures and exits', async () => {
    const { pool } = await openWarm({ threads: 2 });
    const outcomes = [
      reasonOf(pool.run('throws.error')),
      reasonOf(pool.run('echo', [Symbol('s')])),
      reasonOf(pool.run('nothing' as 'echo', [1])),
      pool.run('exit', [1]).catch((error: unknown) => error),
    ];
    await Promise.all([...outcomes, pool.shutdown()]);
    expect(pool.threads).toBe(0);
  });

  test('by await using', async () => {
    const { pool } = await open();
    const dispose: typeof Symbol.asyncDispose =
      Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as never);
    const task = pool.run('later', [1]);
    await pool[dispose]();
    expect(await task).toBe(1);
    expect(await reasonOf(pool.run('echo', [1]))).toBeInstanceOf(PoolClosedError);
  });
});

describe('drain', () => {
  test('resolves when no task runs or waits, and changes nothing', async () => {
    const { pool, board } = await openWarm();
    await pool.drain({ timeout: 0 });
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    let isIdle = false;
    const drained = pool.drain().then(() => {
      isIdle = true;
    });
    const other = pool.run('write', [1]);
    await until(() => gate.begun === 1);
    expect(await reasonOf(pool.drain({ timeout: 0 }))).toMatchObject({
      name: 'TimeoutError',
      message: 'timed out after 0 ms: 1 active, 1 waiting',
    });
    expect(await reasonOf(pool.drain({ timeout: 1 }))).toBeInstanceOf(TimeoutError);
    expect(await reasonOf(pool.drain({ signal: AbortSignal.abort('no') }))).toBe('no');
    expect(isIdle).toBe(false);
    gate.open();
    await Promise.all([held, other, drained]);
    expect([pool.closed, pool.waiting, pool.running]).toEqual([false, 0, 0]);
    expect(await pool.run('echo', [1])).toBe(1);
  });

  test('waits for a task that was given up and does not stop yet', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const gate = board.gate();
    const controller = new AbortController();
    const given = reasonOf(pool.run('hold', [gate.number], { signal: controller.signal }));
    await until(() => gate.begun === 1);
    controller.abort('now');
    await given;
    expect(await reasonOf(pool.drain({ timeout: 0 }))).toBeInstanceOf(TimeoutError);
    const drained = pool.drain();
    gate.open();
    await drained;
    expect(gate.ended).toBe(1);
  });

  test('resolves when the pool is ended', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const looping = reasonOf(pool.run('loop', [gate.number]));
    await until(() => gate.begun === 1);
    const drained = pool.drain();
    await pool.terminate();
    await Promise.all([drained, looping]);
    await pool.drain();
  });
});

describe('terminate', () => {
  test('rejects what runs, what is ahead, what waits and what is read', async () => {
    const { pool, board } = await openWarm({ threads: 2, grace: 60_000 });
    const iterator = await pool.run('numbers', [1_000_000, board.take(2)]);
    await iterator.next();
    const gate = board.gate();
    const tasks = [
      reasonOf(pool.run('loop', [gate.number])),
      ...range(20).map((n) => reasonOf(pool.run('write', [n]))),
    ];
    const reading = reasonOf(collect(iterator));
    await until(() => gate.begun === 1);
    const terminated = pool.terminate();
    for (const error of await Promise.all(tasks)) {
      expect(error).toBeInstanceOf(PoolClosedError);
      expect((error as Error).message).toBe('the pool was terminated');
    }
    expect(await reading).toBeInstanceOf(PoolClosedError);
    await terminated;
    expect([pool.threads, pool.waiting, pool.running]).toEqual([0, 0, 0]);
    expect(board.log).toEqual([]);
    expect(pool.metrics).toMatchObject({ cancelled: 22, failed: 0, threadsLost: 0 });
    expect(await reasonOf(pool.run('echo', [1]))).toBeInstanceOf(PoolClosedError);
  });

  test('counts an iterator once whose generator ends in the meantime', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const gate = board.gate();
    const { signal } = new AbortController();
    const iterator = await pool.run('numbersThenHold', [0, gate.number], { signal });
    const reading = reasonOf(collect(iterator));
    await until(() => gate.begun === 1);
    // The pool stops listening in the midst of ending the thread.
    signal.removeEventListener = () => {
      gate.open();
      const end = performance.now() + 50;
      while (gate.ended === 0 || performance.now() < end);
    };
    await pool.terminate();
    expect(await reading).toBeInstanceOf(PoolClosedError);
    expect([pool.threads, pool.waiting, pool.running]).toEqual([0, 0, 0]);
    expect(pool.metrics.cancelled).toBe(1);
  });

  test('counts a task once that was given up before', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const gate = board.gate();
    const controller = new AbortController();
    const given = reasonOf(pool.run('loop', [gate.number], { signal: controller.signal }));
    await until(() => gate.begun === 1);
    controller.abort('before');
    expect(await given).toBe('before');
    await pool.terminate();
    expect(pool.metrics).toMatchObject({ cancelled: 1, completed: 1, failed: 0 });
  });

  test('its reason is for what is not over, and for what comes later', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = reasonOf(pool.run('loop', [gate.number]));
    const waiting = reasonOf(pool.run('write', [1]));
    await until(() => gate.begun === 1);
    const terminated = pool.terminate('enough');
    expect(pool.closed).toBe(true);
    expect(pool.terminate('again')).toBe(terminated);
    const later = reasonOf(pool.run('write', [1]));
    expect(await Promise.all([held, waiting, later])).toEqual(['enough', 'enough', 'enough']);
    await terminated;
    expect(board.log).toEqual([]);
  });

  test('a task that was run just before it does not begin', async () => {
    const { pool, board } = await openWarm({ threads: 2 });
    const task = reasonOf(pool.run('write', [1]));
    const terminated = pool.terminate('enough');
    expect(await task).toBe('enough');
    await terminated;
    expect([board.log, pool.metrics.cancelled]).toEqual([[], 1]);
  });

  test('while close waits, with a reason of its own', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = reasonOf(pool.run('loop', [gate.number]));
    await until(() => gate.begun === 1);
    const closed = pool.close('closed');
    const terminated = pool.terminate('terminated');
    expect(await held).toBe('terminated');
    expect(await reasonOf(pool.run('echo', [1]))).toBe('closed');
    await Promise.all([closed, terminated]);
  });

  test('again, after close, and when it has never begun', async () => {
    const { pool } = await open();
    await Promise.all([pool.terminate(), pool.terminate()]);
    await pool.close();
    const other = await openWarm();
    await other.pool.close();
    await other.pool.terminate();
  });

  test('while close waits', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const task = reasonOf(pool.run('loop', [gate.number]));
    await until(() => gate.begun === 1);
    const closed = pool.close();
    await pool.terminate();
    await closed;
    expect(await task).toBeInstanceOf(PoolClosedError);
  });

  test('while its threads start', async () => {
    const { pool, board } = await open({ threads: 2 });
    const tasks = range(4).map((n) => reasonOf(pool.run('write', [n])));
    await pool.terminate();
    for (const error of await Promise.all(tasks)) expect(error).toBeInstanceOf(PoolClosedError);
    expect([pool.threads, pool.waiting]).toEqual([0, 0]);
    // Another thread has had its turns.
    await warm(await open(), 1);
    expect(board.log).toEqual([]);
  });

  test('while a caller waits for space', async () => {
    const { pool, board } = await openWarm({ maxWaiting: 2 });
    const gate = board.gate();
    const tasks = range(3).map(() => reasonOf(pool.run('loop', [gate.number])));
    await until(() => gate.begun === 1);
    const space = reasonOf(pool.waitForSpace());
    await pool.terminate();
    expect(await space).toBeInstanceOf(PoolClosedError);
    await Promise.all(tasks);
  });
});
