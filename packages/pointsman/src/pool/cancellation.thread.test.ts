/** A task that is given up: when it has not begun it never begins, else it is stopped, and no other is touched. */
import { describe, expect, test } from 'vitest';
import { ForeignController } from '../../tests/pool/foreign-signal.js';
import {
  collect,
  inNode,
  makeShort,
  open,
  openWarm,
  range,
  reasonOf,
  until,
  warm,
} from '../../tests/pool/pools.js';
import { TimeoutError } from '../sync/errors.js';
import { ThreadEndedError } from './index.js';
import { inline } from './inline.js';

/** One thread that is held up, with many tasks ahead in its ring, and others in the queue. */
async function busy(options: Parameters<typeof open>[0] = {}) {
  const opened = await openWarm(options);
  const { pool, board } = opened;
  for (const name of ['echo', 'write'] as const) await pool.run(name, [-1]);
  board.words.fill(0, 0, 2);
  for (let n = 0; n < 5; n++) await Promise.all(range(200).map((n) => pool.run('echo', [n])));
  await makeShort(opened);
  const gate = board.gate();
  const held = pool.run('hold', [gate.number, 'held']);
  await until(() => gate.begun === 1);
  return { ...opened, gate, held };
}

/** Counts the listeners. */
function watched() {
  const controller = new AbortController();
  const listeners = new Set<unknown>();
  const own = controller.signal;
  const { addEventListener, removeEventListener } = own;
  own.addEventListener = ((type: string, listener: never, options?: never) => {
    listeners.add(listener);
    addEventListener.call(own, type, listener, options);
  }) as typeof addEventListener;
  own.removeEventListener = ((type: string, listener: never) => {
    listeners.delete(listener);
    removeEventListener.call(own, type, listener);
  }) as typeof removeEventListener;
  const abort = (reason: unknown) => controller.abort(reason);
  return { controller, signal: own, listeners, abort };
}

/** Whether a thread can receive messages without returning to its event loop. */
const canReceive = inNode && !('Deno' in globalThis || 'Bun' in globalThis);

describe('before it has begun', () => {
  test('aborted before it is run', async () => {
    const { pool, board } = await open();
    const word = board.take();
    const signal = AbortSignal.abort(new RangeError('before'));
    await expect(pool.run('count', [word], { signal })).rejects.toThrow(new RangeError('before'));
    expect([pool.threads, pool.waiting]).toEqual([0, 0]);
    await pool.run('echo', [1]);
    expect(board.at(word)).toBe(0);
  });

  test('while no thread has begun', async () => {
    const { pool, board } = await open();
    const controller = new AbortController();
    const given = pool.run('write', [0], { signal: controller.signal });
    const other = pool.run('write', [1]);
    controller.abort();
    await expect(given).rejects.toMatchObject({ name: 'AbortError' });
    await other;
    expect(board.log).toEqual([1]);
    expect(pool.metrics).toMatchObject({ completed: 1, cancelled: 1, failed: 0 });
  });

  test('ahead in its thread, and in the queue', async () => {
    const { pool, board, gate, held } = await busy();
    const controllers = range(600).map(() => new AbortController());
    const tasks = controllers.map(({ signal }, n) =>
      pool.run('write', [n], { signal }).catch((error: unknown) => error),
    );
    // Of each three the middle one stays.
    controllers.forEach((controller, n) => {
      if (n % 3 !== 1) controller.abort(`reason ${n}`);
    });
    gate.open();
    expect(await held).toBe('held');
    expect(await Promise.all(tasks)).toEqual(
      range(600).map((n) => (n % 3 === 1 ? n : `reason ${n}`)),
    );
    expect(board.log).toEqual(range(600).filter((n) => n % 3 === 1));
    expect(pool.threads).toBe(1);
    expect(pool.metrics).toMatchObject({ cancelled: 400, threadsStarted: 1 });
  });

  test('all of more than a thread can have ahead, in one turn', async () => {
    const { pool, board } = await openWarm();
    const outcomes = range(2_000).map((n) => {
      const controller = new AbortController();
      const task = pool.run('write', [n], { signal: controller.signal });
      controller.abort(n);
      return reasonOf(task);
    });
    const last = pool.run('write', [-1]);
    expect(await Promise.all(outcomes)).toEqual(range(2_000));
    expect(await last).toBe(-1);
    // A thread that looks for tasks may have begun some in between; none begins later, or twice.
    const log = [...board.log];
    expect(log.at(-1)).toBe(-1);
    expect(new Set(log).size).toBe(log.length);
    await pool.run('echo', [1]);
    expect(board.log).toEqual(log);
  });

  test('all behind one that takes long, more than a thread can have ahead', async () => {
    const { pool, board, gate, held } = await busy();
    for (let n = 0; n < 1_200; n++) {
      const controller = new AbortController();
      const task = pool.run('write', [n], { signal: controller.signal });
      controller.abort(n);
      expect(await reasonOf(task)).toBe(n);
    }
    const last = pool.run('write', [-1]);
    gate.open();
    await held;
    expect(await last).toBe(-1);
    expect(board.log).toEqual([-1]);
  });

  test('by a timeout', async () => {
    const { pool, board, gate, held } = await busy();
    const tasks = range(4).map((n) => reasonOf(pool.run('write', [n], { timeout: n % 2 })));
    for (const reason of await Promise.all(tasks)) {
      expect(reason).toBeInstanceOf(TimeoutError);
      expect((reason as Error).message).toMatch(/^write\(\) has not begun within [01] ms$/);
    }
    gate.open();
    await held;
    await pool.run('write', [9]);
    expect(board.log).toEqual([9]);
    expect(pool.metrics.threadsStarted).toBe(1);
  });

  test('a timeout of 0 rejects it at once unless a thread is idle', async () => {
    const { pool, board } = await open({ maxWaiting: 0, whenFull: 'drop-oldest' });
    const buffer = new ArrayBuffer(8);
    const given = reasonOf(pool.run('size', [buffer], { timeout: 0, transfer: [buffer] }));
    expect([pool.threads, pool.waiting]).toEqual([0, 0]);
    expect(await given).toMatchObject({
      name: 'TimeoutError',
      message: 'size() has not begun within 0 ms',
    });
    expect(buffer.byteLength).toBe(8);
    const written = pool.run('write', [1]);
    expect(await reasonOf(pool.run('write', [2], { timeout: 0 }))).toBeInstanceOf(TimeoutError);
    // No other task was dropped for it.
    expect(await written).toBe(1);
    expect(board.log).toEqual([1]);
    expect(pool.metrics).toMatchObject({ cancelled: 0, completed: 1 });
    // Its thread has it now: a more urgent task does not displace it.
    const begun = pool.run('write', [3], { timeout: 0 });
    expect(await reasonOf(pool.run('write', [4], { timeout: 0 }))).toBeInstanceOf(TimeoutError);
    expect(await begun).toBe(3);
  });

  test.each([0.5, 2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])(
    'with a timeout of %d it has that long',
    async (timeout) => {
      const { pool, board, gate, held } = await busy();
      const task = pool.run('write', [1], { timeout }).catch((error: unknown) => error);
      if (timeout < 1) {
        expect(await task).toBeInstanceOf(TimeoutError);
      } else {
        // A timer that cannot take it would be over by now.
        await warm(await open(), 1);
      }
      gate.open();
      await held;
      if (timeout > 1) expect(await task).toBe(1);
      expect(board.log).toEqual(timeout > 1 ? [1] : []);
    },
  );

  test('a timeout that elapses after the task has begun does not affect it', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = pool.run('hold', [gate.number, 'held'], { timeout: 60_000 });
    await until(() => gate.begun === 1);
    const late = pool.run('hold', [gate.number, 'late'], { timeout: 5 });
    expect(await reasonOf(late)).toBeInstanceOf(TimeoutError);
    gate.open();
    expect(await held).toBe('held');
    const loose = board.gate();
    const begun = pool.run('holdLoosely', [loose.number, 'begun'], { timeout: 100 });
    await until(() => loose.begun === 1);
    const began = performance.now();
    await until(() => performance.now() > began + 120);
    loose.open();
    expect(await begun).toBe('begun');
    expect(pool.metrics.threadsStarted).toBe(1);
  });
});

describe('by a signal of another realm', () => {
  test('aborted before', async () => {
    const { pool } = await open();
    const controller = new ForeignController();
    controller.abort('before');
    const { signal } = controller;
    expect(await reasonOf(pool.run('echo', [1], { signal }))).toBe('before');
    expect(await reasonOf(pool.waitForSpace({ signal }))).toBe('before');
    expect(await reasonOf(collect(pool.map('echo', [1], { signal })))).toBe('before');
    expect([pool.threads, controller.listeners]).toEqual([0, 0]);
  });

  test('while it waits', async () => {
    const { pool, board } = await openWarm({ maxWaiting: 1 });
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const controller = new ForeignController();
    const { signal } = controller;
    const given = [
      pool.run('write', [1], { signal }),
      pool.waitForSpace({ signal }),
      collect(pool.map('write', [2], { signal })),
    ].map(reasonOf);
    expect(pool.waiting).toBe(1);
    controller.abort('given up');
    expect(await Promise.all(given)).toEqual(['given up', 'given up', 'given up']);
    expect(controller.listeners).toBe(0);
    gate.open();
    await held;
    await pool.run('echo', [1]);
    expect(board.log).toEqual([]);
  });

  test.each(['loopUntilAborted', 'loopUntilThrown', 'waitForAbort'] as const)(
    '%s sees it',
    async (name) => {
      const { pool, board } = await openWarm({ grace: 60_000 });
      const gate = board.gate();
      const controller = new ForeignController();
      const given = reasonOf(pool.run(name, [gate.number], { signal: controller.signal }));
      await until(() => gate.begun === 1);
      controller.abort({ why: 'enough' });
      expect(await given).toEqual({ why: 'enough' });
      if (name === 'waitForAbort') expect(await pool.run('reasonHeard')).toEqual({ why: 'enough' });
      else await pool.run('echo', [1]);
      expect([gate.ended, controller.listeners]).toEqual([1, 0]);
      expect(pool.metrics.threadsStarted).toBe(1);
    },
  );

  test('that is an argument and cannot be left, when its thread is ended', async () => {
    const { pool, board } = await openWarm({ grace: 1 });
    const gate = board.gate();
    const argument = new ForeignController().signal;
    argument.removeEventListener = () => {
      throw new Error('not today');
    };
    const controller = new AbortController();
    const { signal } = controller;
    const given = reasonOf(pool.run('loop', [gate.number, argument] as never, { signal }));
    const waiting = pool.run('echo', [1]);
    await until(() => gate.begun === 1);
    controller.abort('given up');
    expect(await given).toBe('given up');
    expect(await waiting).toBe(1);
    await pool.close();
    expect(pool.threads).toBe(0);
  });

  test('that is an argument', async () => {
    const { pool } = await openWarm();
    const heard = inline(
      (signal: AbortSignal, begun: () => void) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(signal.reason));
          begun();
        }),
    );
    const controller = new ForeignController();
    expect(await pool.run(heard, [controller.signal, () => controller.abort('now')])).toBe('now');
  });
});

describe('while it runs', () => {
  test.each(['loopUntilAborted', 'loopUntilThrown', 'waitForAbort'] as const)(
    '%s stops, and keeps its thread',
    async (name) => {
      const { pool, board } = await openWarm({ grace: 60_000 });
      const thread = await pool.run('who');
      const controller = new AbortController();
      const gate = board.gate();
      const given = pool.run(name, [gate.number], { signal: controller.signal });
      const others = range(5).map((n) => pool.run('write', [n]));
      await until(() => gate.begun === 1);
      controller.abort(new RangeError('stop'));
      await expect(given).rejects.toThrow(new RangeError('stop'));
      expect(await Promise.all(others)).toEqual(range(5));
      expect(gate.ended).toBe(1);
      expect(await pool.run('who')).toBe(thread);
      expect(pool.metrics).toMatchObject({ cancelled: 1, failed: 0, threadsStarted: 1 });
    },
  );

  test('the rejection does not wait for it', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const controller = new AbortController();
    const gate = board.gate();
    const given = pool.run('hold', [gate.number], { signal: controller.signal });
    await until(() => gate.begun === 1);
    controller.abort('now');
    expect(await reasonOf(given)).toBe('now');
    expect(gate.ended).toBe(0);
    // It counts as running as long as it does.
    expect(pool.running).toBe(1);
    gate.open();
    await pool.run('echo', [1]);
    expect(pool.metrics.threadsStarted).toBe(1);
  });

  test('a task that listens hears the reason', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    const controller = new AbortController();
    const gate = board.gate();
    const given = pool.run('waitForAbort', [gate.number], { signal: controller.signal });
    await until(() => gate.begun === 1);
    controller.abort({ why: ['a', 'reason'] });
    expect(await reasonOf(given)).toEqual({ why: ['a', 'reason'] });
    expect(await pool.run('reasonHeard')).toEqual({ why: ['a', 'reason'] });
  });

  test('by a runTimeout', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    for (const name of ['waitForAbort', 'loopUntilAborted'] as const) {
      const gate = board.gate();
      const reason = await reasonOf(pool.run(name, [gate.number], { runTimeout: 30 }));
      expect(reason).toBeInstanceOf(TimeoutError);
      expect((reason as Error).message).toBe(`${name}() has run for 30 ms`);
      // The same thread runs it.
      await pool.run('echo', [1]);
      expect([gate.begun, gate.ended]).toEqual([1, 1]);
    }
    expect(await pool.run('reasonHeard')).toMatchObject({
      name: 'TimeoutError',
      message: 'waitForAbort() has run for 30 ms',
    });
    expect(pool.metrics).toMatchObject({ cancelled: 2, failed: 0, threadsStarted: 1 });
  });

  test('a runTimeout does not count the time that a task waits', async () => {
    const { pool, gate, held } = await busy();
    const late = pool.run('write', [1], { runTimeout: 20 });
    const came = performance.now();
    await until(() => performance.now() > came + 40);
    gate.open();
    expect(await held).toBe('held');
    expect(await late).toBe(1);
    expect(await collect(pool.map('write', [2, 3, 4], { runTimeout: 60_000 }))).toEqual([2, 3, 4]);
  });

  test('a runTimeout does not count the time that an earlier task keeps the thread busy', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    // The task has sent its result, and then does not return to the event loop of its thread.
    await pool.run('returnAndHold', [gate.number]);
    await until(() => gate.begun === 1);
    const late = pool.run('write', [1], { runTimeout: 20 });
    const came = performance.now();
    await until(() => performance.now() > came + 60);
    gate.open();
    expect(await late).toBe(1);
    expect(board.log).toEqual([1]);
    expect(pool.metrics).toMatchObject({ cancelled: 0, threadsStarted: 1 });
  });

  test('a task whose arguments have moved to a busy thread is refused: it has not begun', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    await pool.run('returnAndHold', [gate.number]);
    await until(() => gate.begun === 1);
    const bytes = new Uint8Array(8);
    const options = { runTimeout: 20, transfer: [bytes.buffer] };
    expect(await reasonOf(pool.run('echo', [bytes], options))).toEqual(
      new TimeoutError('echo() has not begun within 20 ms'),
    );
    gate.open();
    expect(await pool.run('echo', [1])).toBe(1);
    expect(pool.metrics).toMatchObject({ cancelled: 1, failed: 0, threadsStarted: 1 });
  });

  test('a task that does not stop after its runTimeout is ended with its thread', async () => {
    const { pool, board } = await openWarm({ grace: 5 });
    const gate = board.gate();
    const given = pool.run('loop', [gate.number], { runTimeout: 20 });
    const others = range(3).map((n) => pool.run('write', [n]));
    expect(await reasonOf(given)).toBeInstanceOf(TimeoutError);
    expect(await Promise.all(others)).toEqual(range(3));
    expect(pool.metrics).toMatchObject({ cancelled: 1, failed: 0, threadsLost: 0 });
    expect(await reasonOf(collect(pool.map('loop', [gate.number], { runTimeout: 1 })))).toEqual(
      new TimeoutError('loop() has run for 1 ms'),
    );
  });

  test('an abort after the runTimeout, and a runTimeout after the abort, change nothing', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    for (const first of ['abort', 'runTimeout']) {
      const gate = board.gate();
      const { signal, abort } = watched();
      const runTimeout = first === 'abort' ? 30 : 5;
      const given = reasonOf(pool.run('holdLoosely', [gate.number], { signal, runTimeout }));
      if (first === 'abort') {
        await until(() => gate.begun === 1);
        abort('aborted');
      }
      const reason = await given;
      if (first !== 'abort') abort('aborted');
      const came = performance.now();
      await until(() => performance.now() > came + 40);
      expect(reason).toEqual(first === 'abort' ? 'aborted' : expect.any(TimeoutError));
      gate.open();
      await pool.run('echo', [1]);
    }
    expect(pool.metrics).toMatchObject({ cancelled: 2, threadsStarted: 1 });
  });

  test.runIf(canReceive)(
    'a loop that reads the reason sees the reason that was given',
    async () => {
      const { pool, board } = await openWarm({ grace: 60_000 });
      const words = board.take(2);
      for (const reason of [new RangeError('why'), 'a text', { why: 1 }, Symbol('not cloned')]) {
        const controller = new AbortController();
        const gate = board.gate();
        const given = pool.run('loopUntilReason', [gate.number], { signal: controller.signal });
        // The loop receives them, and they begin after it.
        const others = range(3).map(() => pool.run('count', [words]));
        await until(() => gate.begun === 1);
        controller.abort(reason);
        expect(await reasonOf(given)).toBe(reason);
        await Promise.all(others);
        const seen = await pool.run('reasonHeard');
        if (typeof reason === 'symbol') expect(seen).toMatchObject({ message: expect.any(String) });
        else expect(seen).toEqual(reason);
      }
      expect(board.at(words)).toBe(12);
      const gate = board.gate();
      await reasonOf(pool.run('loopUntilReason', [gate.number], { runTimeout: 20 }));
      expect(await pool.run('reasonHeard')).toEqual(
        new TimeoutError('loopUntilReason() has run for 20 ms'),
      );
      expect(pool.metrics.threadsStarted).toBe(1);
    },
  );

  test('a listener is called once, and sees the state of the signal', async () => {
    const { pool, board } = await openWarm({ grace: 60_000 });
    for (const name of ['listenAndAwait', 'listenAndLoop'] as const) {
      const gate = board.gate();
      const controller = new AbortController();
      const given = reasonOf(pool.run(name, [gate.number], { signal: controller.signal }));
      await until(() => gate.begun === 1);
      controller.abort('why');
      expect(await given).toBe('why');
      await pool.run('echo', [1]);
      expect(gate.ended).toBe(1);
      expect(await pool.run('heard')).toEqual([true]);
    }
    expect(pool.metrics.threadsStarted).toBe(1);
  });

  test.each([1, 2])('one that does not stop is ended with its thread, of %i', async (threads) => {
    const opened = await openWarm({ threads, grace: 20 });
    const { pool, board } = opened;
    for (let n = 0; n < 5; n++) await Promise.all(range(200).map((n) => pool.run('echo', [n])));
    const controller = new AbortController();
    const [gate, bystander] = [board.gate(), board.gate()];
    const given = pool.run('loop', [gate.number], { signal: controller.signal });
    const held = threads === 2 ? pool.run('holdLoosely', [bystander.number, 'held']) : undefined;
    const words = range(60).map(() => board.take());
    const others = words.map((word) => pool.run('count', [word]));
    await until(() => gate.begun === 1 && (threads === 1 || bystander.begun === 1));
    controller.abort('too long');
    expect(await reasonOf(given)).toBe('too long');
    await until(() => pool.metrics.threadsStarted === threads + 1);
    bystander.open();
    await Promise.all(others);
    expect(words.map((word) => board.at(word))).toEqual(words.map(() => 1));
    if (held) expect(await held).toBe('held');
    expect(pool.metrics).toMatchObject({ cancelled: 1, failed: 0, threadsLost: 0 });
    await warm(opened, threads);
    expect(pool.threads).toBe(threads);
  });

  test('one after the other that does not stop', async () => {
    const { pool, board } = await open({ grace: 0 });
    for (let n = 0; n < 4; n++) {
      const gate = board.gate();
      const controller = new AbortController();
      const given = pool.run('loop', [gate.number], { signal: controller.signal });
      const next = pool.run('write', [n]);
      await until(() => gate.begun === 1);
      controller.abort(n);
      expect(await reasonOf(given)).toBe(n);
      expect(await next).toBe(n);
    }
    expect(board.log).toEqual(range(4));
  });

  test('one that has ended before its grace is over is left alone', async () => {
    const { pool, board } = await openWarm({ grace: 400 });
    const controller = new AbortController();
    const [gate, next] = [board.gate(), board.gate()];
    const given = pool.run('loopUntilAborted', [gate.number], { signal: controller.signal });
    const held = pool.run('holdLoosely', [next.number, 'held']);
    await until(() => gate.begun === 1);
    const aborted = performance.now();
    controller.abort('stop');
    expect(await reasonOf(given)).toBe('stop');
    await until(() => next.begun === 1 && performance.now() > aborted + 450);
    next.open();
    expect(await held).toBe('held');
    expect(pool.metrics.threadsStarted).toBe(1);
  });
});

describe('afterwards', () => {
  test('the signal has no listener left', async () => {
    const { pool, board } = await openWarm({ grace: 0 });
    const { controller, signal, listeners } = watched();
    await Promise.all(range(10).map((n) => pool.run('echo', [n], { signal, timeout: 60_000 })));
    await reasonOf(pool.run('throws.error', [], { signal }));
    await reasonOf(pool.run('uncloneable', [], { signal }));
    await reasonOf(pool.run('echo', [Symbol('s')], { signal }));
    await reasonOf(pool.run('nothing' as never, [] as never, { signal }));
    await reasonOf(pool.run('echo', [1], { signal, timeout: 0 }));
    const exit = board.gate();
    exit.open();
    // What only asks for its end in a browser may be given the next task before it comes.
    await reasonOf(pool.run('holdAndExit', [exit.number, 1], { signal }));
    expect(await collect(await pool.run('numbers', [20, board.take(2)], { signal }))).toHaveLength(
      20,
    );
    for await (const _ of await pool.run('numbers', [20, board.take(2)], { signal })) break;
    await reasonOf(collect(await pool.run('failAfter', [3], { signal })));
    await pool.run('echo', [1]);
    expect(listeners.size).toBe(0);
    const gate = board.gate();
    const given = pool.run('loop', [gate.number], { signal });
    await until(() => gate.begun === 1);
    expect(listeners.size).toBe(1);
    controller.abort('now');
    expect(await reasonOf(given)).toBe('now');
    expect(listeners.size).toBe(0);
  });

  test('the signal has no listener left when a thread ends during an iteration, or the pool is terminated', async () => {
    const { pool, board } = await openWarm();
    const { signal, listeners } = watched();
    const ended = await pool.run('exitAfter', [3], { signal, timeout: 60_000 });
    expect(await reasonOf(collect(ended))).toBeInstanceOf(ThreadEndedError);
    expect(listeners.size).toBe(0);
    const numbers = await pool.run('numbers', [100, board.take(2)], { signal, timeout: 60_000 });
    await numbers.next();
    const waiting = reasonOf(pool.run('echo', [1], { signal }));
    // One for all tasks of a signal.
    expect(listeners.size).toBe(1);
    await pool.terminate();
    await waiting;
    expect(listeners.size).toBe(0);
  });

  test('an abort changes nothing', async () => {
    const { pool } = await openWarm({ grace: 0 });
    const controller = new AbortController();
    expect(await pool.run('echo', [1], { signal: controller.signal })).toBe(1);
    controller.abort();
    expect(await pool.run('echo', [2])).toBe(2);
    expect(pool.metrics).toMatchObject({ completed: 3, cancelled: 0, threadsStarted: 1 });
  });
});
