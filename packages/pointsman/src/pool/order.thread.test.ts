/** Which task is next, on which thread, and for how many there is room. */
import { describe, expect, test } from 'vitest';
import {
  type Opened,
  open,
  openWarm,
  range,
  reasonOf,
  until,
  warm,
} from '../../tests/pool/pools.js';
import { PoolClosedError, QueueFullError } from './index.js';

/** Lets a thread learn that tasks take long, so that it is given one ahead. */
async function makeSlow({ pool, board }: Opened): Promise<void> {
  const words = board.take(2);
  await pool.run('spin', [20, words, words + 1]);
}

/** Lets a thread learn that tasks are short, so that it is given many ahead. */
async function makeEager({ pool }: Opened): Promise<void> {
  for (let n = 0; n < 5; n++) await Promise.all(range(200).map((n) => pool.run('echo', [n])));
}

/** Lets a pool learn that tasks of `hold` are short. */
async function makeShort({ pool, board }: Opened): Promise<void> {
  const gate = board.gate();
  gate.open();
  for (let n = 0; n < 100; n++) await pool.run('hold', [gate.number]);
}

/** One task holds its thread, and the next comes to its end nevertheless. */
async function writeBesideHeld({ pool, board }: Opened): Promise<void> {
  const gate = board.gate();
  const held = pool.run('hold', [gate.number]);
  expect(await pool.run('write', [1])).toBe(1);
  expect(gate.ended).toBe(0);
  gate.open();
  await held;
}

describe('tasks behind one that takes long', () => {
  test('go to a thread that has nothing to do', async () => {
    const opened = await openWarm({ threads: 2 });
    const { pool, board } = opened;
    await makeEager(opened);
    const gate = board.gate();
    // Each of them is behind the long one, or could have been.
    const held = pool.run('hold', [gate.number]);
    const others = range(40).map((n) => pool.run('write', [n]));
    expect(await Promise.all(others)).toEqual(range(40));
    expect(gate.ended).toBe(0);
    expect([...board.log].sort((a, b) => a - b)).toEqual(range(40));
    gate.open();
    await held;
  });

  test('go there too if tasks of its function were short before', async () => {
    const opened = await openWarm({ threads: 2, idleTimeout: 3_600_000 });
    await makeShort(opened);
    // Meanwhile the other has nothing to do, nor is it looked after any more.
    await makeSlow(opened);
    await writeBesideHeld(opened);
  });

  test('go there too if the long one begins when the other thread has been idle already', async () => {
    const opened = await openWarm({ threads: 2 });
    const { pool, board } = opened;
    await makeEager(opened);
    const [first, second, long] = [board.gate(), board.gate(), board.gate()];
    const one = pool.run('hold', [first.number]);
    const other = pool.run('hold', [second.number]);
    const held = pool.run('hold', [long.number]);
    // One for each thread.
    const behind = [pool.run('write', [1]), pool.run('write', [2])];
    await until(() => first.begun + second.begun === 2);
    second.open();
    // That thread has nothing to do now; the other goes on before it is looked at.
    await Promise.all([other, Promise.race(behind)]);
    first.open();
    await Promise.all([one, ...behind]);
    expect(long.ended).toBe(0);
    long.open();
    await held;
  });

  test('go to a thread that is still to come', async () => {
    const opened = await open({ threads: 2 });
    const { pool, board } = opened;
    await warm(opened, 1);
    await makeEager(opened);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    const others = range(10).map((n) => pool.run('write', [n]));
    await Promise.all(others);
    expect(gate.ended).toBe(0);
    gate.open();
    await held;
  });

  test('go to one that is still to come also if tasks of its function were short before', async () => {
    const opened = await open({ threads: 2 });
    await warm(opened, 1);
    await makeShort(opened);
    await writeBesideHeld(opened);
  });
});

describe('priorities', () => {
  test('higher goes first, equals as they came', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const priorities = [0, 5, -1, 5, 0, 2.5];
    const others = priorities.map((priority, n) => pool.run('write', [n], { priority }));
    gate.open();
    await Promise.all([held, ...others]);
    expect(board.log).toEqual([1, 3, 5, 0, 4, 2]);
  });

  test('what is urgent does not come to wait behind a long task while another thread is there', async () => {
    const opened = await openWarm({ threads: 2 });
    const { pool, board } = opened;
    await makeEager(opened);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const others = range(200).map((n) => pool.run('write', [n]));
    const urgent = pool.run('write', [1_000], { priority: 1 });
    await Promise.all([urgent, ...others]);
    expect(board.log.at(-1)).not.toBe(1_000);
    expect(gate.ended).toBe(0);
    gate.open();
    await held;
  });

  test('what a thread has ahead gives way', async () => {
    const opened = await openWarm();
    const { pool, board } = opened;
    await makeEager(opened);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    const ahead = range(20).map((n) => pool.run('write', [n]));
    await until(() => gate.begun === 1);
    const urgent = pool.run('write', [100], { priority: 1 });
    gate.open();
    await Promise.all([held, urgent, ...ahead]);
    expect(board.log).toEqual([100, ...range(20)]);
  });

  test('on a thread that has not begun any of them', async () => {
    const { pool, board } = await openWarm();
    const all = [0, 0, 1].map((priority, n) => pool.run('write', [n], { priority }));
    await Promise.all(all);
    expect([...board.log].sort()).toEqual([0, 1, 2]);
  });

  test('whoever waits long enough goes before all', async () => {
    const { pool, board } = await openWarm({ ageing: 1 });
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const early = pool.run('write', [0]);
    // Two milliseconds later two steps are made up for.
    const came = performance.now();
    await until(() => performance.now() > came + 2);
    const late = pool.run('write', [1], { priority: 2 });
    const urgent = pool.run('write', [2], { priority: 1_000_000 });
    gate.open();
    await Promise.all([held, early, late, urgent]);
    expect(board.log).toEqual([2, 0, 1]);
  });

  test('with an infinite ageing nobody does', async () => {
    const { pool, board } = await openWarm({ ageing: Number.POSITIVE_INFINITY });
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const early = pool.run('write', [0]);
    const came = performance.now();
    await until(() => performance.now() > came + 2);
    const late = pool.run('write', [1], { priority: 0.001 });
    gate.open();
    await Promise.all([held, early, late]);
    expect(board.log).toEqual([1, 0]);
  });
});

test('keys take turns, however many tasks each has', async () => {
  const { pool, board } = await open();
  const [a, b] = [{}, 'b'];
  const tasks = [a, a, a, a, b, b, undefined].map((key, n) => pool.run('write', [n], { key }));
  await Promise.all(tasks);
  expect(board.log).toEqual([0, 4, 6, 1, 5, 2, 3]);
});

describe('maxWaiting', () => {
  /** One thread that is held up, and as many tasks waiting as may. */
  async function full(whenFull: 'wait' | 'reject' | 'shed', maxWaiting = 2) {
    const opened = await openWarm({ maxWaiting, whenFull });
    const { pool, board } = opened;
    await makeSlow(opened);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const waiting = range(maxWaiting).map((n) => pool.run('writeSlowly', [n]));
    expect(pool.size).toBe(maxWaiting);
    return { ...opened, gate, all: [held, ...waiting] };
  }

  test('wait: it waits nevertheless', async () => {
    const { pool, board, gate, all } = await full('wait');
    const more = range(3).map((n) => pool.run('write', [n + 2]));
    gate.open();
    await Promise.all([...all, ...more]);
    expect(board.log).toEqual(range(5));
  });

  test('reject: it is refused at once', async () => {
    const { pool, board, gate, all } = await full('reject');
    const refused = await reasonOf(pool.run('write', [3], { priority: -1 }));
    expect(refused).toBeInstanceOf(QueueFullError);
    expect((refused as Error).message).toBe('the queue is full: 2 tasks may wait');
    expect(pool.size).toBe(2);
    gate.open();
    await Promise.all(all);
    expect(await pool.run('write', [4])).toBe(4);
    expect(board.log).toEqual([0, 1, 4]);
    expect(pool.metrics).toMatchObject({ cancelled: 1, failed: 0 });
  });

  test('shed: the last of the least urgent is refused', async () => {
    const { pool, board, gate, all } = await full('shed');
    const outcomes = all.map((promise) => promise.catch((error: unknown) => error));
    expect(await reasonOf(pool.run('write', [3]))).toBeInstanceOf(QueueFullError);
    const urgent = pool.run('write', [4], { priority: 1 });
    gate.open();
    await urgent;
    const errors = (await Promise.all(outcomes)).filter((one) => one instanceof QueueFullError);
    expect(errors).toHaveLength(1);
    // The newest of the least urgent had to make room.
    expect(board.log).toEqual([4, 0]);
  });

  test('0: what no thread can take at once is refused', async () => {
    const { pool, gate, all } = await full('reject', 0);
    expect(await reasonOf(pool.run('echo', [1]))).toBeInstanceOf(QueueFullError);
    gate.open();
    await Promise.all(all);
    expect(await pool.run('echo', [1])).toBe(1);
  });

  const refusing = (['reject', 'shed'] as const).flatMap((whenFull) =>
    [0, 1, 3].map((maxWaiting) => ({ whenFull, maxWaiting })),
  );
  test.each(refusing)(
    '$whenFull: $maxWaiting wait while the threads start, and no more',
    async ({ whenFull, maxWaiting }) => {
      const { pool } = await open({ maxWaiting, whenFull, threads: 2 });
      const tasks = range(8).map((n) => pool.run('echo', [n]).catch((error: unknown) => error));
      expect(pool.size).toBe(2 + maxWaiting);
      const outcomes = await Promise.all(tasks);
      const kept = range(2 + maxWaiting);
      expect(outcomes.slice(0, kept.length)).toEqual(kept);
      for (const one of outcomes.slice(kept.length)) expect(one).toBeInstanceOf(QueueFullError);
    },
  );

  test.each([0, 1, 3])(
    'wait: %i wait while the threads start until there is no room',
    async (maxWaiting) => {
      const { pool } = await open({ maxWaiting, threads: 2 });
      const tasks: Promise<unknown>[] = [];
      for (const n of range(2 + maxWaiting)) {
        await pool.room({ timeout: 0 });
        tasks.push(pool.run('echo', [n]));
      }
      expect(await reasonOf(pool.room({ timeout: 0 }))).toMatchObject({ name: 'TimeoutError' });
      await pool.room();
      await Promise.all(tasks);
    },
  );

  describe('room', () => {
    test('is there at once without a maxWaiting', async () => {
      const { pool } = await open();
      await pool.room();
    });

    test('is there at once if a thread has nothing to do', async () => {
      const { pool } = await openWarm({ maxWaiting: 0 });
      await pool.room();
    });

    test('comes when a task begins, for as many as there is room for', async () => {
      const { pool, board, gate, all } = await full('wait', 1);
      const second = board.gate();
      // Behind the first, which it outlives.
      const told: number[] = [];
      const waiting = range(2).map((n) => pool.room().then(() => told.push(n)));
      await pool.room({ timeout: 0 }).catch(() => {});
      expect(told).toEqual([]);
      const held = pool.run('hold', [second.number]);
      gate.open();
      await until(() => second.begun === 1);
      await Promise.all(waiting);
      second.open();
      await Promise.all([...all, held]);
      expect(told).toEqual([0, 1]);
    });

    test('comes when the last that waits begins', async () => {
      const { pool, board, gate, all } = await full('wait', 1);
      const second = board.gate();
      // One waits already: this one is above the maxWaiting.
      const held = pool.run('hold', [second.number]);
      let told = false;
      const room = pool.room().then(() => {
        told = true;
      });
      gate.open();
      await until(() => second.begun === 1 && told);
      await room;
      expect(second.ended).toBe(0);
      second.open();
      await Promise.all([...all, held]);
    });

    test('comes when a task that waits is given up', async () => {
      const { pool, board, gate, all } = await full('wait', 1);
      const controller = new AbortController();
      // Above the maxWaiting, so that one must be given up before there is room, and another.
      const given = pool.run('echo', [1], { signal: controller.signal });
      const room = pool.room();
      controller.abort('given up');
      expect(await reasonOf(given)).toBe('given up');
      await expect(pool.room({ timeout: 1 })).rejects.toMatchObject({ name: 'TimeoutError' });
      gate.open();
      await Promise.all([...all, room]);
      expect(board.log).toEqual([0]);
    });

    test('with a signal and a timeout', async () => {
      const { pool, gate, all } = await full('wait');
      await expect(pool.room({ timeout: 0 })).rejects.toMatchObject({
        name: 'TimeoutError',
        message: 'there was no room within 0 ms',
      });
      const aborted = { signal: AbortSignal.abort('before') };
      expect(await reasonOf(pool.room(aborted))).toBe('before');
      const controller = new AbortController();
      const room = pool.room({ signal: controller.signal, timeout: 60_000 });
      controller.abort('meanwhile');
      expect(await reasonOf(room)).toBe('meanwhile');
      gate.open();
      await Promise.all(all);
      await pool.room();
    });

    test('not when the pool is closed', async () => {
      const { pool, gate, all } = await full('wait');
      const room = reasonOf(pool.room());
      const closed = pool.close();
      expect(await room).toBeInstanceOf(PoolClosedError);
      expect(await reasonOf(pool.room())).toBeInstanceOf(PoolClosedError);
      gate.open();
      await Promise.all([...all, closed]);
    });
  });
});
