/** Each task gets its own copy of its arguments, and each caller its own copy of the result. */
import { describe, expect, test } from 'vitest';
import { openWarm, range, reasonOf } from '../../tests/pool/pools.js';

/** Values that hold the list, one for each way of copying. */
const given = {
  small: (sizes: number[]) => ({ sizes }),
  large: (sizes: number[]) => ({ sizes, rest: range(100).map((n) => ({ n })) }),
  'with a function': (sizes: number[]) => ({ sizes, call: () => {} }),
  'with bytes': (sizes: number[]) => ({ sizes, bytes: new Uint8Array(10_000) }),
  'with a date': (sizes: number[]) => ({ sizes, at: new Date(0) }),
  'twice the same list': (sizes: number[]) => ({ sizes, again: sizes }),
};

test.each(Object.entries(given))(
  'an argument that several tasks are given: %s',
  async (_, make) => {
    const { pool } = await openWarm();
    const value = make([3, 1, 2, 4]);
    const runs = range(4).map(() => pool.run('takeSmallest', [value]));
    expect(await Promise.all(runs)).toEqual([1, 1, 1, 1]);
    expect(value.sizes).toEqual([3, 1, 2, 4]);
  },
);

test('a result that several tasks return: each caller gets it as it was then', async () => {
  const { pool } = await openWarm();
  const results = await Promise.all(range(4).map(() => pool.run('shared')));
  expect(results.map(({ hits }) => hits)).toEqual([1, 2, 3, 4]);
  (results[0] as (typeof results)[0]).nested.list.push(2);
  expect(results[1]?.nested.list).toEqual([1]);
  expect(new Set(results.map(({ nested }) => nested)).size).toBe(4);
});

test('bytes that several tasks return: each caller gets them as they were then', async () => {
  const { pool } = await openWarm();
  const results = await Promise.all(range(3).map((n) => pool.run('sharedBytes', [n])));
  expect(results.map(([first]) => first)).toEqual([0, 1, 2]);
});

test('identity is preserved within one task', async () => {
  const { pool } = await openWarm();
  const one = { n: 1, self: undefined as unknown };
  one.self = one;
  const run = () => pool.run('all', [one, [one]]) as Promise<[typeof one, [typeof one]]>;
  for (const [first, [second]] of await Promise.all([run(), run()])) {
    expect(first).toBe(second);
    expect(first.self).toBe(first);
  }
});

test('properties of small values arrive as by structured clone', async () => {
  const { pool } = await openWarm();
  const own = JSON.parse('{"__proto__":{"a":1},"toString":2}');
  // biome-ignore lint/suspicious/noSparseArray: that is what is tested
  const holes: unknown[] = [, 1];
  const extra = Object.assign([1, 2], { name: 'extra' });
  const bytes = new Uint8Array([1, 2, 3]);
  const values = [own, holes, extra, { bytes, buffer: bytes.buffer }, Object.create({ a: 1 })];
  const results = await Promise.all(values.map((value) => pool.run('echo', [value])));
  expect(results).toEqual(values.map((value) => structuredClone(value)));
  expect(Object.keys(results[0] as object)).toEqual(['__proto__', 'toString']);
  expect(0 in (results[1] as unknown[])).toBe(false);
  const together = results[3] as { bytes: Uint8Array; buffer: ArrayBuffer };
  expect(together.bytes.buffer).toBe(together.buffer);
});

describe('a buffer that two tasks of one turn transfer', () => {
  test('the first gets it, and the second rejects', async () => {
    const { pool } = await openWarm();
    const buffer = new ArrayBuffer(4);
    const options = { transfer: [buffer] };
    const first = pool.run('fill', [buffer, 1], options);
    const second = pool.run('fill', [buffer, 2], options);
    expect(await reasonOf(second)).toMatchObject({
      name: 'DataCloneError',
      message: 'value[0] cannot be cloned: it is a buffer that was moved before',
    });
    expect(await first).toBe('1111');
    expect(await pool.run('echo', ['fine'])).toBe('fine');
  });

  test('a buffer that is in no argument is named by its place in the transfer list', async () => {
    const { pool } = await openWarm();
    const buffer = new ArrayBuffer(4);
    const run = () => pool.run('echo', [1], { transfer: [buffer] });
    const [first, second] = await Promise.allSettled([run(), run()]);
    expect(first).toMatchObject({ value: 1 });
    expect(second).toMatchObject({
      reason: { message: 'transfer[0] cannot be moved: it is a buffer that was moved before' },
    });
  });

  test('a port that has moved to a thread and is given to it once more', async () => {
    const { pool } = await openWarm();
    const { port1, port2 } = new MessageChannel();
    const run = () => pool.run('ignore', [{ port: port1 }], { transfer: [port1] });
    await run();
    expect(await reasonOf(run())).toMatchObject({ name: 'DataCloneError' });
    expect(await pool.run('echo', ['fine'])).toBe('fine');
    port2.close();
  });

  test('a view of one', async () => {
    const { pool } = await openWarm();
    const view = new Uint8Array(4);
    const [first, second] = await Promise.allSettled([
      pool.run('echo', [view], { transfer: [view.buffer] }),
      pool.run('echo', [{ inside: view }]),
    ]);
    expect(first).toMatchObject({ status: 'fulfilled' });
    expect(second).toMatchObject({
      reason: {
        name: 'DataCloneError',
        message: 'value[0].inside cannot be cloned: it is a buffer that was moved before',
      },
    });
  });
});

describe('a value that is deep', () => {
  const nested = (levels: number) => {
    let value: unknown = 'the end';
    for (let level = 0; level < levels; level++) value = { value };
    return value;
  };

  test('arrives', async () => {
    const { pool } = await openWarm();
    expect(await pool.run('echo', [nested(900)])).toEqual(nested(900));
  });

  test.each([1_001, 3_000, 100_000])('rejects with its depth: %d', async (levels) => {
    const { pool } = await openWarm();
    expect(await reasonOf(pool.run('echo', [nested(levels)]))).toMatchObject({
      name: 'DataCloneError',
      message: expect.stringContaining(`nested ${levels + 1} levels deep`),
    });
    const result = await reasonOf(pool.run('makeNested', [levels]));
    expect(result).toMatchObject({
      name: 'DataCloneError',
      message: expect.stringContaining(`nested ${levels} levels deep`),
    });
    expect(await pool.run('echo', ['fine'])).toBe('fine');
    expect(pool.metrics.threadsStarted).toBe(1);
  });
});

test('views arrive as views of the same kind, offset and length, and share their buffer', async () => {
  const { pool } = await openWarm();
  const { buffer } = new Uint8Array(range(64));
  const bytes = new Uint8Array(buffer, 8, 16);
  const doubles = new Float64Array(buffer, 16, 2);
  class Bytes extends Uint8Array {}
  const views = { bytes, again: bytes, doubles, own: new Bytes(4), data: new DataView(buffer, 1) };
  const echoed = (await pool.run('echo', [[views, { buffer }]])) as [typeof views, object];
  expect(echoed).toEqual([{ ...views, own: new Uint8Array(4) }, { buffer }]);
  const [got] = echoed;
  expect(got.again).toBe(got.bytes);
  expect(got.own.constructor).toBe(Uint8Array);
  expect(got.doubles.buffer).toBe(got.bytes.buffer);
  expect([got.bytes.byteOffset, got.bytes.length, got.doubles.byteOffset]).toEqual([8, 16, 16]);
  expect(got.doubles).toEqual(doubles);
});
