/** Tasks that go well: what they are given, what they give, and in which order. */
import { describe, expect, test, vi } from 'vitest';
import { isPattern, pattern } from '../../tests/bridge/pattern.js';
import { open, openWarm, range, reasonOf, until } from '../../tests/pool/pools.js';
import { task, transfer } from './index.js';
import { inline } from './inline.js';

describe('which function', () => {
  test('by name, nested, the default export, by proxy', async () => {
    const { pool } = await open();
    expect(await pool.run('echo', [1])).toBe(1);
    expect(await pool.run('text.upper', ['a'])).toBe('A');
    expect(await pool.run('text.deeper.lower', ['B'])).toBe('b');
    expect(await pool.run('default')).toBe('the default');
    expect(await pool.proxy.later({ a: 1 })).toEqual({ a: 1 });
    expect(await pool.proxy.text.deeper.lower('C')).toBe('c');
    expect(pool.proxy.text).toBe(pool.proxy.text);
  });

  test('of a module in the module, methods of an object, static ones, and one that a function has', async () => {
    const { pool } = await open();
    expect(await pool.run('patterns.isPattern', [pattern(9), 9])).toBe(true);
    expect(await pool.run('counter.add', [1])).toBe(2);
    expect(await pool.run('counter.add', [2])).toBe(6);
    expect(await pool.run('Doubling.create')).toBe('Doubling');
    expect(await pool.run('square', [3])).toBe(9);
    expect(await pool.run('square.root', [9])).toBe(3);
    expect(await pool.proxy.square.root(16)).toBe(4);
  });

  test('a proxy keeps a bounded number of names', async () => {
    const { pool } = await open();
    const proxy = pool.proxy as unknown as Record<string, Record<string, unknown>>;
    for (let n = 0; n < 1_000; n++) void proxy[`name ${n}`]?.[`inner ${n}`];
    const isKept = (name: string) => Object.is(proxy[name], proxy[name]);
    expect([isKept('name 0'), isKept('name 999'), isKept('new')]).toEqual([true, false, false]);
    expect(await pool.proxy.text.upper('a')).toBe('A');
  });

  test('a proxy is no promise', async () => {
    const { pool } = await open();
    expect(await pool.proxy).toBe(pool.proxy);
    expect((pool.proxy as { then?: unknown }).then).toBeUndefined();
  });

  test('one written in place, with captures, again and again', async () => {
    const { pool } = await openWarm({ threads: 2 });
    // No constant, which Bun would put in its place.
    const factor = Number('3');
    const scale = inline((n: number) => n * factor, { factor });
    const results = range(20).map((n) => pool.run(scale, [n]));
    expect(await Promise.all(results)).toEqual(range(20).map((n) => 3 * n));
    const later = inline(async (a: number, b: number) => a + b);
    expect(await pool.run(later, [1, 2])).toBe(3);
    expect(await pool.run(scale, [5])).toBe(15);
  });

  test('one written in place whose first task never reached a thread', async () => {
    const { pool } = await openWarm();
    const echo = inline((value: unknown) => value);
    await expect(pool.run(echo, [Symbol('s')])).rejects.toMatchObject({ name: 'DataCloneError' });
    expect(await pool.run(echo, [1])).toBe(1);
  });

  test('one written in place whose first task was withdrawn', async () => {
    const { pool, board } = await openWarm();
    const echo = inline((value: unknown) => value);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const controller = new AbortController();
    const given = pool.run(echo, [1], { signal: controller.signal });
    controller.abort('not now');
    expect(await reasonOf(given)).toBe('not now');
    gate.open();
    await held;
    expect(await pool.run(echo, [2])).toBe(2);
  });
});

describe('arguments and results', () => {
  test.each([
    ['undefined', undefined],
    ['null', null],
    ['numbers', [0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]],
    ['bigints', [0n, -(2n ** 80n)]],
    ['texts', ['', 'text', '\u{1f600}', '\ud800', 'x'.repeat(100_000)]],
    ['dates', new Date(5)],
    ['regular expressions', /a+/gi],
    ['maps', new Map<unknown, unknown>([['a', new Map([[1, 2]])]])],
    ['sets', new Set([1, 'two'])],
    ['objects', { a: { b: [{ c: undefined }] } }],
    ['holes', Object.assign(new Array(3), { 1: 'one' })],
    ['typed arrays', [new Float64Array([1, 2]), new Uint16Array([3]), new BigInt64Array([4n])]],
    ['buffers', new Uint8Array([1, 2, 3]).buffer],
    ['errors', new RangeError('an argument', { cause: 1 })],
  ])('%s', async (_, value) => {
    const { pool } = await open();
    expect(await pool.run('echo', [value])).toEqual(value);
    expect(await pool.run('later', [value])).toEqual(value);
    expect(await pool.run('all', [value, 1, value])).toEqual([value, 1, value]);
  });

  test('none, and many', async () => {
    const { pool } = await open();
    expect(await pool.run('all')).toEqual([]);
    expect(await pool.run('all', [])).toEqual([]);
    expect(await pool.run('all', [undefined])).toEqual([undefined]);
    expect(await pool.run('all', range(300))).toEqual(range(300));
  });

  test('what refers to itself, and what is there twice', async () => {
    const { pool } = await open();
    const twice = { a: 1 };
    const value: Record<string, unknown> = { one: twice, other: twice };
    value.self = value;
    const back = (await pool.run('echo', [value])) as typeof value;
    expect(back.self).toBe(back);
    expect(back.one).toBe(back.other);
    expect(back.one).not.toBe(twice);
  });

  test.each([0, 1, 1_000, 65_536, 1_000_000, 20_000_000])(
    '%i bytes there and back',
    async (size) => {
      const { pool } = await open();
      expect(await pool.run('isWhole', [pattern(size), size])).toBe(true);
      expect(isPattern(await pool.run('make', [size]), size)).toBe(true);
      expect(isPattern((await pool.run('echo', [pattern(size)])) as Uint8Array, size)).toBe(true);
    },
    20_000,
  );

  test('many functions written in place at once', async () => {
    const { pool } = await openWarm();
    await Promise.all(range(500).map((n) => pool.run('echo', [n])));
    const results = range(600).map((n) =>
      pool.run(
        inline(async (value: number) => value),
        [n],
      ),
    );
    expect(await Promise.all(results)).toEqual(range(600));
  });

  test('many bytes that move are not copied', async () => {
    const { pool } = await open();
    const bytes = pattern(1_000_000);
    expect(await pool.run('isWhole', [bytes, 1_000_000], { transfer: [bytes.buffer] })).toBe(true);
    expect(bytes.byteLength).toBe(0);
  });

  test('many bytes in many tasks', async () => {
    const { pool } = await open({ threads: 2 });
    const sizes = range(24).map((n) => 300_000 + n);
    const back = await Promise.all(sizes.map((size) => pool.run('echo', [pattern(size)])));
    expect(back.every((bytes, n) => isPattern(bytes as Uint8Array, sizes[n] as number))).toBe(true);
  });

  test('what structured clone cannot carry, anywhere in a value', async () => {
    const { pool } = await open();
    const controller = new AbortController();
    const thrown = Object.assign(new RangeError('inside', { cause: { code: 1 } }), { code: 'E' });
    const itself: Error & { own?: unknown } = new Error('refers to itself');
    itself.own = { itself };
    const double = (n: number) => 2 * n;
    const value = {
      list: Object.assign(new Array(3), { 0: thrown, 2: thrown }) as unknown[],
      map: new Map<unknown, unknown>([['callback', double]]),
      set: new Set([controller.signal]),
      itself,
    };
    const back = (await pool.run('echo', [value])) as typeof value;
    expect(Object.keys(back.list)).toEqual(['0', '2']);
    expect(back.list[0]).toMatchObject({ name: 'RangeError', code: 'E', cause: { code: 1 } });
    expect(back.list[0]).toBe(back.list[2]);
    expect((back.itself.own as { itself: Error }).itself).toBe(back.itself);
    // What came home is what it was.
    expect(back.map.get('callback')).toBe(double);
    expect([...back.set]).toEqual([controller.signal]);
    // Nothing has happened to what was given.
    expect(value.map.get('callback')).toBe(double);
    expect(value.list[0]).toBe(thrown);
  });

  test('many objects that refer to each other', async () => {
    const { pool } = await open();
    const objects = range(200).map((n): Record<string, unknown> => ({ n }));
    for (const each of objects) each.others = objects;
    const back = (await pool.run('echo', [objects])) as typeof objects;
    expect(back[7]?.others).toBe(back);
    expect(back.map(({ n }) => n)).toEqual(range(200));
    const called = (await pool.run('echo', [[...objects, () => 'called']])) as typeof objects;
    expect(called).toHaveLength(201);
  });

  test('a value that cannot be cloned harms none that is run beside it', async () => {
    const { pool } = await open();
    const results = await Promise.allSettled([
      pool.run('echo', [1]),
      pool.run('echo', [{ deep: [Symbol('s')] }]),
      pool.run('echo', [() => {}]),
      pool.run('echo', [2]),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    const { reason } = results[1] as PromiseRejectedResult;
    expect(reason).toMatchObject({
      name: 'DataCloneError',
      message: expect.stringContaining('value[0].deep[0] cannot be cloned'),
    });
  });

  test('what moves goes ahead where tasks are short, and comes back', async () => {
    const { pool } = await openWarm();
    await Promise.all(range(500).map((n) => pool.run('echo', [n])));
    const buffers = range(50).map((n) => new Uint8Array([n]).buffer);
    const sizes = await Promise.all(
      buffers.map((buffer) => pool.run('size', [buffer], { transfer: [buffer] })),
    );
    expect(sizes).toEqual(buffers.map(() => 1));
    expect(buffers.map(({ byteLength }) => byteLength)).toEqual(buffers.map(() => 0));
  });

  test('callbacks', async () => {
    const { pool } = await open();
    const call = inline(async (ask: (n: number) => Promise<number>) => (await ask(20)) + 1);
    expect(await pool.run(call, [(n: number) => 2 * n])).toBe(41);
  });
});

describe('order', () => {
  test('on one thread as they were run, also those that wait before it has begun', async () => {
    const { pool, board } = await open();
    const results = range(500).map((n) => pool.run('write', [n]));
    expect(pool.waiting + pool.running).toBe(500);
    expect(await Promise.all(results)).toEqual(range(500));
    expect(board.log).toEqual(range(500));
    expect([pool.waiting, pool.running]).toEqual([0, 0]);
  });

  test('on one thread, in bursts', async () => {
    const { pool, board } = await open();
    let sent = 0;
    for (let burst = 1; burst <= 60; burst++) {
      const count = (burst * 7) % 40;
      const results = range(count).map(() => pool.run('write', [sent++]));
      if (burst % 3 === 0) await Promise.all(results);
      else await results[0];
    }
    await pool.run('echo', [0]);
    expect(board.log).toEqual(range(sent));
  });

  test('a task that waits lets no other begin', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = pool.run('holdLoosely', [gate.number]);
    const others = range(5).map((n) => pool.run('write', [n]));
    await until(() => gate.begun === 1);
    // It looks at its gate turn by turn; the others would have had their turns.
    const done = vi.fn();
    void Promise.all(others).then(done);
    const one = board.take();
    const thread = await openWarm();
    for (let n = 0; n < 20; n++) await thread.pool.run('count', [one]);
    expect(board.log).toEqual([]);
    gate.open();
    await Promise.all([held, ...others]);
    expect(board.log).toEqual(range(5));
  });

  test('many in flight on several threads: each gets its own answer', async () => {
    const { pool } = await open({ threads: 3 });
    const results = range(5_000).map((n) => pool.run(n % 7 === 0 ? 'later' : 'echo', [n]));
    expect(await Promise.all(results)).toEqual(range(5_000));
    expect(pool.metrics.completed).toBe(5_000);
  }, 20_000);
});

describe('what moves', () => {
  test('an argument by the option', async () => {
    const { pool } = await open();
    const buffer = new ArrayBuffer(1_000);
    expect(await pool.run('size', [buffer], { transfer: [buffer] })).toBe(1_000);
    expect(buffer.byteLength).toBe(0);
    const bytes = pattern(5_000_000);
    expect(await pool.run('isWhole', [bytes, 5_000_000], { transfer: [bytes.buffer] })).toBe(true);
    expect(bytes.byteLength).toBe(0);
  });

  test('an argument by transfer()', async () => {
    const { pool } = await open();
    const buffer = new ArrayBuffer(1_000);
    expect(await pool.run('size', [transfer(buffer, [buffer])])).toBe(1_000);
    expect(buffer.byteLength).toBe(0);
  });

  test('a result', async () => {
    const { pool } = await open();
    const buffer = await pool.run('makeMoved', [100_000]);
    expect(isPattern(new Uint8Array(buffer), 100_000)).toBe(true);
    expect(await pool.run('leftOver')).toBe(0);
  });

  test('many among others, on busy threads', async () => {
    const { pool } = await open({ threads: 2 });
    const results = range(200).map((n) => {
      if (n % 3 !== 0) return pool.run('echo', [n]);
      const buffer = new ArrayBuffer(n);
      return pool.run('size', [buffer], { transfer: [buffer] });
    });
    expect(await Promise.all(results)).toEqual(range(200));
  });

  test('by transfer() while something more urgent comes', async () => {
    const { pool, board } = await openWarm();
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const buffer = new ArrayBuffer(1_000);
    const moved = pool.run('size', [transfer(buffer, [buffer])]);
    const urgent = pool.run('echo', [2], { priority: 1 });
    gate.open();
    await held;
    expect(await Promise.all([moved, urgent])).toEqual([1_000, 2]);
  });
});

describe('what a task says of itself', () => {
  test('progress arrives in order, before the result', async () => {
    const { pool } = await open();
    const heard: unknown[] = [];
    const onProgress = (value: unknown) => heard.push(value);
    const result = pool.run('progress', [100], { onProgress }).then((value) => heard.push(value));
    await result;
    expect(heard).toEqual([...range(100), 'done']);
    heard.length = 0;
    await pool.run('progressLater', [5], { onProgress }).then((value) => heard.push(value));
    expect(heard).toEqual([...range(5).map((value) => ({ value })), 'done']);
  });

  test('progress comes while the task does not return to its event loop', async () => {
    const { pool, board } = await open();
    const gate = board.gate();
    let heard = false;
    const onProgress = () => {
      heard = true;
      gate.open();
    };
    // The gate is opened by what it says.
    await pool.run('sayAndHold', [gate.number], { onProgress });
    expect(heard).toBe(true);
  });

  test('progress without a listener', async () => {
    const { pool } = await open();
    expect(await pool.run('progress', [3])).toBe('done');
  });

  test('each listener hears its own task', async () => {
    const { pool } = await open({ threads: 2 });
    const heard = range(20).map(() => [] as unknown[]);
    await Promise.all(
      range(20).map((n) =>
        pool.run('progress', [n], { onProgress: (value) => heard[n]?.push(value) }),
      ),
    );
    expect(heard).toEqual(range(20).map((n) => range(n)));
  });

  test('its name, signal and deadline', async () => {
    const { pool } = await open();
    expect(await pool.run('about')).toEqual({ name: 'about', aborted: false, left: undefined });
    const { signal } = new AbortController();
    const runTimeout = 60_000;
    const { left, ...rest } = await pool.run('about', [], { signal, runTimeout });
    expect(rest).toEqual({ name: 'about', aborted: false });
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(runTimeout);
    // Not the deadline of the previous task. A bound on the wait does not bound the run.
    expect(await pool.run('about', [], { timeout: 60_000 })).toMatchObject({ left: undefined });
    const endless = { runTimeout: Number.POSITIVE_INFINITY };
    expect(await pool.run('about', [], endless)).toMatchObject({ left: undefined });
  });

  test('outside of a task there is none', async () => {
    const { pool } = await open();
    await pool.run('lookLater');
    let seen: string[] = [];
    while (seen.length < 4) seen = await pool.run('seenOutside');
    for (const [index, name] of ['signal', 'deadline', 'name', 'progress'].entries()) {
      expect(seen[index]).toMatch(
        new RegExp(`^Error: task\\.${name} exists only while a thread of a pool runs a task`),
      );
    }
    expect(() => task.signal).toThrow(/task\.signal/);
    expect(() => task.progress(1)).toThrow(/task\.progress/);
  });
});
