/** The end of a pool: whoever waits learns of it, and nothing is left. */
import { describe, expect, test } from 'vitest';
import { collect, open, openWarm, range, reasonOf, until, warm } from '../../tests/pool/pools.js';
import { PoolClosedError } from './index.js';

describe('close', () => {
  test('waits for all tasks, and refuses others', async () => {
    const { pool, board } = await openWarm({ threads: 2 });
    const gate = board.gate();
    const held = range(2).map(() => pool.run('hold', [gate.number]));
    const others = range(20).map((n) => pool.run('write', [n]));
    const closed = pool.close();
    const refused = pool.run('write', [100]);
    await expect(refused).rejects.toMatchObject({
      name: 'PoolClosedError',
      message: 'the pool is closed',
    });
    expect(await reasonOf(collect(pool.map('echo', [1])))).toBeInstanceOf(PoolClosedError);
    expect(pool.threads).toBe(2);
    gate.open();
    await Promise.all([...held, ...others]);
    await closed;
    expect(pool.threads).toBe(0);
    expect([...board.log].sort((a, b) => a - b)).toEqual(range(20));
    expect(pool.metrics).toMatchObject({ completed: 24, failed: 0, cancelled: 0, threadsLost: 0 });
  });

  test('drops the queue if it is asked to, and waits for what has begun', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = pool.run('hold', [gate.number, 'held']);
    await until(() => gate.begun === 1);
    const others = range(5).map((n) => reasonOf(pool.run('write', [n])));
    const closed = pool.close(undefined, { dropQueue: true });
    for (const reason of await Promise.all(others)) expect(reason).toBeInstanceOf(PoolClosedError);
    gate.open();
    expect(await held).toBe('held');
    await closed;
    expect(board.log).toEqual([]);
    expect(pool.metrics).toMatchObject({ cancelled: 5, failed: 0, threadsLost: 0 });
  });

  test('ends what is left after its timeout', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = reasonOf(pool.run('hold', [gate.number]));
    const other = reasonOf(pool.run('echo', [1]));
    await until(() => gate.begun === 1);
    await pool.close(undefined, { timeout: 10 });
    expect(await held).toBeInstanceOf(PoolClosedError);
    expect(await other).toBeInstanceOf(PoolClosedError);
    expect(pool.threads).toBe(0);
  });

  test('with a timeout of 0 ends at once what is not over', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const gate = board.gate();
    const held = reasonOf(pool.run('loop', [gate.number]));
    const other = reasonOf(pool.run('write', [1]));
    await until(() => gate.begun === 1);
    await pool.close('enough', { timeout: 0 });
    expect(await Promise.all([held, other])).toEqual(['enough', 'enough']);
    expect([pool.threads, pool.size]).toEqual([0, 0]);
    expect(board.log).toEqual([]);
    await (await open()).pool.close(undefined, { timeout: 0 });
  });

  test.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])(
    'with a timeout of %d waits that long',
    async (timeout) => {
      const { pool, board } = await openWarm();
      const gate = board.gate();
      const held = pool.run('hold', [gate.number, 'held']);
      const closed = pool.close(undefined, { timeout });
      // A timer that cannot take it would be over by now.
      await warm(await open(), 1);
      gate.open();
      expect(await held).toBe('held');
      await closed;
    },
  );

  test('its reason is for who waits, for what is dropped and for what comes later', async () => {
    const { pool, board } = await openWarm({ maxWaiting: 1 });
    expect(pool.closed).toBe(false);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number, 'held']);
    await until(() => gate.begun === 1);
    const dropped = range(2).map((n) => reasonOf(pool.run('write', [n])));
    const room = reasonOf(pool.room());
    const reason = new RangeError('going home');
    const closed = pool.close(reason, { dropQueue: true });
    expect(pool.closed).toBe(true);
    const refused = [
      ...dropped,
      room,
      reasonOf(pool.run('write', [3])),
      reasonOf(pool.room()),
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
    const waiting = pool.run('echo', [1]);
    const closed = pool.close('first');
    expect(pool.close('second', { timeout: 0, dropQueue: true })).toBe(closed);
    expect(await reasonOf(pool.run('echo', [1]))).toBe('first');
    gate.open();
    expect(await Promise.all([held, waiting])).toEqual(['held', 1]);
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
    const closed = pool.close('first', { dropQueue: true });
    expect(again).toBe(closed);
    expect(await dropped).toBe('first');
    gate.open();
    await held;
    await closed;
  });

  test('refuses options that make no sense, and stays open', async () => {
    const { pool } = await open();
    await expect(pool.close(undefined, { timeout: -1 })).rejects.toThrow(
      /timeout must be .* got -1/,
    );
    await expect(pool.close({ timeout: 5 })).rejects.toThrow(
      'reason must be a reason, with the options as the second argument',
    );
    await expect(pool.close(undefined, { dropQueue: 1 as never })).rejects.toThrow(
      /dropQueue must be .* got 1/,
    );
    await expect(pool.close(undefined, { drop: true } as never)).rejects.toThrow(
      'options has "drop", expected only timeout, dropQueue',
    );
    expect(pool.closed).toBe(false);
    await expect(pool.close(undefined, 5 as never)).rejects.toThrow(
      'options must be an object, got 5',
    );
    expect(await pool.run('echo', [1])).toBe(1);
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
    const tasks = range(4).map((n) => pool.run('echo', [n]));
    const closed = pool.close();
    expect(await Promise.all(tasks)).toEqual(range(4));
    await closed;
    expect(pool.threads).toBe(0);
  });

  test('when all that waited for a thread was given up', async () => {
    const { pool } = await open();
    const controller = new AbortController();
    const given = reasonOf(pool.run('echo', [1], { signal: controller.signal }));
    const closed = pool.close();
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

  test('after failures and exits', async () => {
    const { pool } = await openWarm({ threads: 2 });
    const outcomes = [
      reasonOf(pool.run('throws.error')),
      reasonOf(pool.run('echo', [Symbol('s')])),
      reasonOf(pool.run('nothing' as 'echo', [1])),
      pool.run('exit', [1]).catch((error: unknown) => error),
    ];
    await Promise.all([...outcomes, pool.close()]);
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
    expect([pool.threads, pool.size, pool.running]).toEqual([0, 0, 0]);
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
    expect([pool.threads, pool.size, pool.running]).toEqual([0, 0, 0]);
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
    expect([pool.threads, pool.size]).toEqual([0, 0]);
    // Another thread has had its turns.
    await warm(await open(), 1);
    expect(board.log).toEqual([]);
  });

  test('while somebody waits for room', async () => {
    const { pool, board } = await openWarm({ maxWaiting: 0 });
    const gate = board.gate();
    const tasks = range(3).map(() => reasonOf(pool.run('loop', [gate.number])));
    await until(() => gate.begun === 1);
    const room = reasonOf(pool.room());
    await pool.terminate();
    expect(await room).toBeInstanceOf(PoolClosedError);
    await Promise.all(tasks);
  });
});
