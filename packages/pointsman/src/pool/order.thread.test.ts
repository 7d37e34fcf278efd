/** The order of tasks, the thread that runs each, and the space in the queue. */
import { describe, expect, test } from 'vitest';
import type { Gate } from '../../tests/pool/board.js';
import {
  collect,
  makeShort,
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
    await makeShort(opened);
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
    await makeShort(opened);
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
    await pool.run('write', [-1]);
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
    await makeShort(opened);
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

  test('a task that has waited long enough goes before tasks of a higher priority', async () => {
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

  test('with an infinite ageing no task does', async () => {
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
  async function full(whenFull: 'reject' | 'drop-oldest' | undefined, maxWaiting = 2) {
    const opened = await openWarm({ maxWaiting, whenFull });
    const { pool, board } = opened;
    await makeSlow(opened);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const waiting = range(maxWaiting).map((n) => pool.run('writeSlowly', [n]));
    expect(pool.waiting).toBe(maxWaiting);
    return { ...opened, gate, all: [held, ...waiting] };
  }

  test.each([undefined, 'reject'] as const)('%s: a new task is rejected', async (whenFull) => {
    const { pool, board, gate, all } = await full(whenFull);
    for (const priority of [-1, 0, 1]) {
      const refused = await reasonOf(pool.run('write', [3], { priority }));
      expect(refused).toBeInstanceOf(QueueFullError);
      expect((refused as Error).message).toBe('the queue is full: 2 waiting');
    }
    expect(pool.waiting).toBe(2);
    gate.open();
    await Promise.all(all);
    expect(await pool.run('write', [4])).toBe(4);
    expect(board.log).toEqual([0, 1, 4]);
    expect(pool.metrics).toMatchObject({ cancelled: 3, failed: 0 });
  });

  test('drop-oldest: rejects the task of the lowest priority that has waited longest', async () => {
    const { pool, board, gate, all } = await full('drop-oldest');
    const outcomes = all.map((promise) => promise.catch((error: unknown) => error));
    const equal = pool.run('write', [3]);
    expect(await outcomes[1]).toEqual(new QueueFullError('the queue is full: 2 waiting'));
    expect(await reasonOf(pool.run('write', [4], { priority: -1 }))).toBeInstanceOf(QueueFullError);
    const urgent = [pool.run('write', [5], { priority: 1 })];
    expect(await outcomes[2]).toBeInstanceOf(QueueFullError);
    urgent.push(pool.run('write', [6], { priority: 2 }));
    expect(await reasonOf(equal)).toBeInstanceOf(QueueFullError);
    expect(await reasonOf(pool.run('write', [7]))).toBeInstanceOf(QueueFullError);
    gate.open();
    await Promise.all(urgent);
    expect(board.log).toEqual([6, 5]);
    expect(pool.metrics).toMatchObject({ cancelled: 5, failed: 0 });
  });

  test('drop-oldest: also rejects tasks that a thread has ahead', async () => {
    const opened = await openWarm({ maxWaiting: 3, whenFull: 'drop-oldest' });
    const { pool, board } = opened;
    await pool.run('write', [-1]);
    await makeShort(opened);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const tasks = range(6).map((n) => pool.run('write', [n]).catch((error: unknown) => error));
    // A task with a transferred buffer cannot be withdrawn from a thread, but it can be rejected.
    const { buffer } = new Uint8Array(8);
    const moved = pool.run('size', [buffer], { transfer: [buffer] });
    gate.open();
    expect((await Promise.all(tasks)).slice(4)).toEqual([4, 5]);
    await Promise.all([held, moved]);
    expect(board.log).toEqual([-1, 4, 5]);
  });

  test('0: what no thread can take at once is refused', async () => {
    const { pool, gate, all } = await full('reject', 0);
    expect(await reasonOf(pool.run('echo', [1]))).toBeInstanceOf(QueueFullError);
    gate.open();
    await Promise.all(all);
    expect(await pool.run('echo', [1])).toBe(1);
  });

  const refusing = (['reject', 'drop-oldest'] as const).flatMap((whenFull) =>
    [0, 1, 3].map((maxWaiting) => ({ whenFull, maxWaiting })),
  );
  test.each(refusing)(
    '$whenFull: $maxWaiting wait while the threads start, and no more',
    async ({ whenFull, maxWaiting }) => {
      const { pool } = await open({ maxWaiting, whenFull, threads: 2 });
      const tasks = range(8).map((n) => pool.run('echo', [n]).catch((error: unknown) => error));
      expect(pool.waiting).toBe(2 + maxWaiting);
      const outcomes = await Promise.all(tasks);
      const kept = range(2 + maxWaiting).map((n) => (whenFull === 'reject' ? n : 7 - n));
      for (const [n, outcome] of outcomes.entries()) {
        if (kept.includes(n)) expect(outcome).toBe(n);
        else expect(outcome).toBeInstanceOf(QueueFullError);
      }
    },
  );

  test('bounds many priorities, too', async () => {
    const { pool, board } = await openWarm({ maxWaiting: 500, whenFull: 'drop-oldest' });
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const tasks = range(4_000).map((n) =>
      pool.run('write', [n], { priority: (n * 1_471) % 4_000 }).catch(() => -1),
    );
    expect(pool.waiting).toBe(500);
    gate.open();
    await Promise.all([held, ...tasks]);
    const byPriority = range(4_000).sort((a, b) => ((b * 1_471) % 4_000) - ((a * 1_471) % 4_000));
    expect(board.log).toEqual(byPriority.slice(0, 500));
  });

  test('map waits for space while other callers take it', async () => {
    const { pool, board } = await openWarm({ maxWaiting: 1, threads: 1 });
    let refused = 0;
    const others = (async () => {
      for (const n of range(50)) {
        await pool.waitForSpace();
        await pool.run('write', [100 + n]).catch(() => refused++);
      }
    })();
    const mapped = await collect(pool.map('write', range(50), { concurrency: 8 }));
    await others;
    expect(mapped).toEqual(range(50));
    expect(board.log.filter((n) => n < 100)).toEqual(range(50));
    expect(board.log).toHaveLength(100 - refused);
  });

  test('map that waits for space ends with the pool, and closes its inputs', async () => {
    const { pool, gate, all } = await full('reject', 1);
    let closed = false;
    function* inputs() {
      try {
        for (;;) yield 1;
      } finally {
        closed = true;
      }
    }
    const mapped = reasonOf(collect(pool.map('echo', inputs())));
    const rest = all.map((one) => one.catch((error: unknown) => error));
    const ended = pool.close('closed');
    expect(await mapped).toBe('closed');
    expect(closed).toBe(true);
    gate.open();
    await ended;
    expect(await Promise.all(rest)).toEqual([undefined, 'closed']);
  });

  describe('waitForSpace', () => {
    test('at once without a maxWaiting', async () => {
      const { pool } = await open();
      await pool.waitForSpace({ timeout: 0 });
    });

    test('at once if a thread is idle', async () => {
      const { pool } = await openWarm({ maxWaiting: 0 });
      await pool.waitForSpace({ timeout: 0 });
    });

    test.each([0, 1, 3])('while the threads start, for %i that wait', async (maxWaiting) => {
      const { pool } = await open({ maxWaiting, threads: 2 });
      const tasks: Promise<unknown>[] = [];
      for (const n of range(2 + maxWaiting)) {
        await pool.waitForSpace({ timeout: 0 });
        tasks.push(pool.run('echo', [n]));
      }
      const refused = reasonOf(pool.waitForSpace({ timeout: 0 }));
      expect(await refused).toMatchObject({ name: 'TimeoutError' });
      await pool.waitForSpace();
      await Promise.all(tasks);
    });

    test('when a task begins, in order, for as many callers as there is space', async () => {
      const { pool, board } = await openWarm({ maxWaiting: 1 });
      const gates = range(3).map(() => board.gate()) as [Gate, Gate, Gate];
      const held = gates.slice(0, 2).map(({ number }) => pool.run('hold', [number]));
      await until(() => gates[0].begun === 1);
      const told: number[] = [];
      const waiting = range(2).map((n) => pool.waitForSpace().then(() => told.push(n)));
      await pool.waitForSpace({ timeout: 0 }).catch(() => {});
      expect(told).toEqual([]);
      gates[0].open();
      await waiting[0];
      // The space is taken.
      held.push(pool.run('hold', [gates[2].number]));
      await until(() => gates[1].begun === 1);
      expect(told).toEqual([0]);
      gates[1].open();
      await waiting[1];
      expect(told).toEqual([0, 1]);
      gates[2].open();
      await Promise.all(held);
    });

    test('when a waiting task is given up', async () => {
      const { pool, board } = await openWarm({ maxWaiting: 1 });
      const gate = board.gate();
      const held = pool.run('hold', [gate.number]);
      await until(() => gate.begun === 1);
      const controller = new AbortController();
      const given = reasonOf(pool.run('echo', [1], { signal: controller.signal }));
      const space = pool.waitForSpace();
      controller.abort('given up');
      expect(await given).toBe('given up');
      await space;
      gate.open();
      await held;
    });

    test('with a signal and a timeout', async () => {
      const { pool, gate, all } = await full('reject');
      await expect(pool.waitForSpace({ timeout: 0 })).rejects.toMatchObject({
        name: 'TimeoutError',
        message: 'timed out after 0 ms',
      });
      const aborted = { signal: AbortSignal.abort('before') };
      expect(await reasonOf(pool.waitForSpace(aborted))).toBe('before');
      const controller = new AbortController();
      const space = pool.waitForSpace({ signal: controller.signal, timeout: 60_000 });
      controller.abort('meanwhile');
      expect(await reasonOf(space)).toBe('meanwhile');
      gate.open();
      await Promise.all(all);
      await pool.waitForSpace();
    });

    test('not when the pool is closed', async () => {
      const { pool, gate, all } = await full('reject');
      const space = reasonOf(pool.waitForSpace());
      const closed = pool.shutdown();
      expect(await space).toBeInstanceOf(PoolClosedError);
      expect(await reasonOf(pool.waitForSpace())).toBeInstanceOf(PoolClosedError);
      gate.open();
      await Promise.all([...all, closed]);
    });
  });
});
