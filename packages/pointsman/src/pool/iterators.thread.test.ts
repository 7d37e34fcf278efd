/** Tasks that give values one after the other: as fast as they are read, and with a thread of their own until then. */
import { describe, expect, test } from 'vitest';
import { collect, open, openWarm, range, reasonOf, until } from '../../tests/pool/pools.js';
import { PoolClosedError, ThreadEndedError } from './index.js';

test('a value that cannot be cloned ends the iteration, and frees the thread', async () => {
  const { pool } = await open();
  const iterator = await pool.run('uncloneableAfter', [2]);
  const error = await reasonOf(collect(iterator as AsyncIterable<unknown>));
  expect(error).toMatchObject({ name: 'DataCloneError' });
  expect(await pool.run('echo', ['fine'])).toBe('fine');
});

describe.each(['numbers', 'numbersLater'] as const)('%s', (name) => {
  test('to the end', async () => {
    const { pool, board } = await open();
    const words = board.take(2);
    expect(await collect(await pool.run(name, [100, words]))).toEqual(range(100));
    expect(await collect(await pool.run(name, [0, words]))).toEqual([]);
    expect(board.at(words)).toBe(100);
    await pool.run('echo', [1]);
    expect([pool.waiting, pool.running, board.at(words + 1)]).toEqual([0, 0, 2]);
    expect(pool.metrics).toMatchObject({ completed: 3, failed: 0, cancelled: 0 });
  });

  test('it makes a few values ahead of its reader, and no more', async () => {
    const { pool, board } = await open();
    const words = board.take(2);
    const iterator = await pool.run(name, [1_000, words]);
    expect(board.at(words)).toBe(0);
    let most = 0;
    for (let read = 1; read <= 30; read++) {
      expect((await iterator.next()).value).toBe(read - 1);
      // As many as it makes if it has time.
      await until(() => board.at(words) >= read + 7);
      most = Math.max(most, board.at(words) - read);
    }
    // A thread elsewhere has had its turns meanwhile.
    const other = await openWarm();
    for (let n = 0; n < 20; n++) await other.pool.run('later', [n]);
    expect(board.at(words)).toBeLessThanOrEqual(30 + 9);
    expect(most).toBeLessThanOrEqual(9);
    await iterator.return?.();
  });

  test('a reader who leaves when its task is over already', async () => {
    const { pool, board } = await open();
    const words = board.take(2);
    for await (const n of await pool.run(name, [3, words])) {
      expect(n).toBe(0);
      await until(() => pool.running === 0);
      break;
    }
    expect(board.at(words + 1)).toBe(1);
    expect(await pool.run('echo', ['fine'])).toBe('fine');
  });

  test('a reader who leaves runs its finally, and frees its thread', async () => {
    const { pool, board } = await open();
    const words = board.take(2);
    for await (const n of await pool.run(name, [1_000_000, words])) if (n === 3) break;
    expect(board.at(words + 1)).toBe(1);
    expect(await pool.run('echo', [1])).toBe(1);
    expect(board.at(words)).toBeLessThan(20);
    expect(pool.metrics).toMatchObject({ threadsStarted: 1, failed: 0, cancelled: 0 });
  });

  test('a reader who leaves before the first value', async () => {
    const { pool, board } = await open();
    const words = board.take(2);
    const iterator = await pool.run(name, [10, words]);
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(await pool.run('echo', [1])).toBe(1);
    expect(board.at(words)).toBe(0);
  });

  test('a reader who throws into it', async () => {
    const { pool, board } = await open();
    const words = board.take(2);
    const iterator = await pool.run(name, [10, words]);
    await iterator.next();
    expect(await reasonOf(iterator.throw?.('enough') as never)).toBe('enough');
    expect(await pool.run('echo', [1])).toBe(1);
    expect(board.at(words + 1)).toBe(1);
  });

  test('it has its thread for itself', async () => {
    const { pool, board } = await openWarm();
    const words = board.take(2);
    const iterator = await pool.run(name, [1_000, words]);
    const others = range(3).map((n) => pool.run('write', [n]));
    for (let n = 0; n < 20; n++) {
      expect((await iterator.next()).value).toBe(n);
      expect(board.log).toEqual([]);
      expect([pool.running, pool.waiting]).toEqual([1, 3]);
    }
    await iterator.return?.();
    await Promise.all(others);
    expect(board.log).toEqual(range(3));
  });

  test('tasks behind it go to another thread', async () => {
    const { pool, board } = await openWarm({ threads: 2 });
    const iterator = await pool.run(name, [5, board.take(2)]);
    await Promise.all(range(20).map((n) => pool.run('write', [n])));
    expect(await collect(iterator)).toEqual(range(5));
  });

  test('an abort in the middle', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const words = board.take(2);
    const controller = new AbortController();
    const iterator = await pool.run(name, [1_000, words], { signal: controller.signal });
    const behind = pool.run('echo', ['behind']);
    await iterator.next();
    controller.abort(new RangeError('enough'));
    await expect(iterator.next()).rejects.toThrow(new RangeError('enough'));
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    // It stops by itself, so its thread stays.
    expect(await behind).toBe('behind');
    expect(board.at(words + 1)).toBe(1);
    expect(board.at(words)).toBeLessThan(20);
    expect(pool.metrics).toMatchObject({ cancelled: 1, failed: 0, threadsStarted: 1 });
  });

  test('a runTimeout in the middle', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const words = board.take(2);
    const iterator = await pool.run(name, [1_000_000, words], { runTimeout: 100 });
    const reason = await reasonOf(collect(iterator));
    expect(reason).toMatchObject({ name: 'TimeoutError' });
    expect(await pool.run('echo', [1])).toBe(1);
    expect(board.at(words + 1)).toBe(1);
  });
});

test('an abort before it gives its iterator', async () => {
  const { pool, board } = await openWarm({ grace: 60_000 });
  const [gate, words] = [board.gate(), board.take(2)];
  const controller = new AbortController();
  const given = pool.run('numbersBehind', [gate.number, words], { signal: controller.signal });
  await until(() => gate.begun === 1);
  controller.abort('now');
  expect(await reasonOf(given)).toBe('now');
  gate.open();
  expect(await pool.run('echo', [1])).toBe(1);
  expect(pool.metrics.threadsStarted).toBe(1);
});

test('two at a time, each with its own reader', async () => {
  const { pool, board } = await open({ threads: 2 });
  const words = board.take(4);
  const iterators = await Promise.all([
    pool.run('numbers', [200, words]),
    pool.run('numbersLater', [200, words + 2]),
  ]);
  expect(await Promise.all(iterators.map(collect))).toEqual([range(200), range(200)]);
});

test('values that are asked for all at once', async () => {
  const { pool, board } = await open();
  const iterator = await pool.run('numbers', [5, board.take(2)]);
  const steps = await Promise.all(range(8).map(() => iterator.next()));
  expect(steps.map(({ value }) => value)).toEqual([...range(5), undefined, undefined, undefined]);
});

test('a value arrives before the next one is computed', async () => {
  const { pool, board } = await openWarm();
  const gate = board.gate();
  // After the last value it does not return to its event loop until the gate is open.
  const iterator = await pool.run('numbersThenHold', [3, gate.number]);
  for (const value of range(3)) expect(await iterator.next()).toEqual({ done: false, value });
  expect(gate.ended).toBe(0);
  gate.open();
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
});

test('an error in the middle', async () => {
  const { pool } = await openWarm();
  const heard: number[] = [];
  const reading = (async () => {
    for await (const n of await pool.run('failAfter', [3])) heard.push(n);
  })();
  const error = await reasonOf(reading);
  expect(error).toMatchObject({ name: 'RangeError', message: 'no more', after: 3 });
  expect(heard).toEqual(range(3));
  expect(await pool.run('echo', [1])).toBe(1);
  expect(pool.metrics.threadsStarted).toBe(1);
});

test('its thread ends in the middle', async () => {
  const { pool } = await openWarm();
  const iterator = await pool.run('exitAfter', [20]);
  const behind = range(3).map((n) => pool.run('echo', [n]));
  const error = await reasonOf(collect(iterator));
  expect(error).toBeInstanceOf(ThreadEndedError);
  expect((error as Error).message).toMatch(/^the thread that ran exitAfter\(\) has ended/);
  expect(await Promise.all(behind)).toEqual(range(3));
  expect(pool.metrics).toMatchObject({ threadsLost: 1, threadsStarted: 2 });
  expect([pool.waiting, pool.running]).toEqual([0, 0]);
});

test('an unhandled rejection in the middle', async () => {
  const { pool } = await openWarm();
  const iterator = await pool.run('rejectAfter', [3]);
  const behind = range(3).map((n) => pool.run('echo', [n]));
  expect(await reasonOf(collect(iterator))).toMatchObject({ message: 'not handled' });
  expect(await Promise.all(behind)).toEqual(range(3));
  await until(() => pool.metrics.threadsStarted === 2);
  await pool.close();
});

test('one that does not stop is ended with its thread', async () => {
  const { pool, board } = await openWarm({ grace: 10 });
  const controller = new AbortController();
  const gate = board.gate();
  const iterator = await pool.run('numbersThenHold', [20, gate.number], {
    signal: controller.signal,
  });
  const behind = range(3).map((n) => pool.run('echo', [n]));
  const reading = reasonOf(collect(iterator));
  await until(() => gate.begun === 1);
  controller.abort('enough');
  expect(await reading).toBe('enough');
  expect(await Promise.all(behind)).toEqual(range(3));
  expect([gate.ended, pool.metrics.threadsStarted]).toEqual([0, 2]);
});

test('closing waits until it is read', async () => {
  const { pool, board } = await openWarm();
  const iterator = await pool.run('numbers', [5, board.take(2)]);
  const closed = pool.close();
  expect(await collect(iterator)).toEqual(range(5));
  await closed;
  expect(pool.threads).toBe(0);
});

test('terminating ends it for its reader', async () => {
  const { pool, board } = await openWarm();
  const iterator = await pool.run('numbers', [1_000_000, board.take(2)]);
  await iterator.next();
  const reading = reasonOf(collect(iterator));
  await pool.terminate();
  expect(await reading).toBeInstanceOf(PoolClosedError);
});
