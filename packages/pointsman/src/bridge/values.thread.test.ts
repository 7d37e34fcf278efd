/** Values arrive unchanged in both directions. */
import { describe, expect, test } from 'vitest';
import { useBridge } from '../../tests/bridge/threads.js';

const cycle: Record<string, unknown> = { name: 'cycle' };
cycle.self = cycle;
const shared = { shared: true };

const values: Record<string, unknown> = {
  undefined: undefined,
  null: null,
  true: true,
  false: false,
  zero: 0,
  NaN: Number.NaN,
  infinity: Number.NEGATIVE_INFINITY,
  integers: [1, -1, 255, 256, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 53 - 1, -(2 ** 53)],
  doubles: [0.1, -0.5, 1e300, 5e-324],
  'empty string': '',
  ascii: 'the quick brown fox',
  latin: 'façade, 100 µs, ÿ',
  wide: '電話 и Ωμέγα',
  pairs: '😀👩‍👩‍👧🏳️‍🌈',
  'long string': 'x'.repeat(100_000),
  'long wide string': '電😀'.repeat(50_000),
  'empty list': [],
  'empty object': {},
  'a match': /(?<word>b+)/.exec('aabb'),
  'a list with properties': Object.assign([1, 2], { name: 'numbers', deep: { list: [1] } }),
  // biome-ignore lint/suspicious/noSparseArray: the test needs a hole
  'a list with holes and properties': Object.assign([, 1, , 2], { name: 'holes' }),
  'a long list with a property': Object.assign(
    Array.from({ length: 1_000 }, (_, n) => ({ n })),
    { count: 1_000 },
  ),
  nested: { a: [{ b: { c: [1, 'two', null, true] } }], 'key with spaces': 1, '': 2, 電: 3 },
  date: new Date(1_234_567_890_123),
  map: new Map<unknown, unknown>([
    ['a', 1],
    [2, { three: 3 }],
  ]),
  set: new Set([1, 'two']),
  bytes: new Uint8Array([0, 1, 127, 128, 255]),
  'no bytes': new Uint8Array(0),
  doublesArray: new Float64Array([0.5, -0, Number.NaN]),
  words: new Int32Array([1, -2, 2 ** 31 - 1]),
  'bytes inside': { list: [new Uint8Array([1, 2, 3])] },
  'many objects': Array.from({ length: 2_000 }, (_, n) => ({ id: n, name: `name ${n}`, n: n / 3 })),
  'other shapes': Array.from({ length: 500 }, (_, n) => ({ [`key${n}`]: n })),
  'minus zero': -0,
  'minus zero inside': [-0, { zero: -0 }],
  bigint: 12_345_678_901_234_567_890n,
  bigints: [0n, -1n, 2n ** 64n, -(2n ** 200n)],
  'half a pair': ['\ud83d', '\ude00\ud83d', `${'a'.repeat(5_000)}\ud83d`],
  'undefined inside': { a: undefined, b: [undefined, null] },
  regexp: /a+(b)?/giu,
  'array buffer': new Uint8Array([1, 2, 3]).buffer,
  'data view': new DataView(new Uint8Array([1, 2, 3]).buffer),
  'big integers': new BigInt64Array([1n, -1n]),
  cycle,
  'met twice': [shared, shared],
  __proto__: JSON.parse('{"__proto__": {"polluted": true}}'),
};

describe('values in both directions', () => {
  const taken: unknown[] = [];
  const all = useBridge(
    {
      give: (name: string) => values[name],
      take(value: unknown) {
        taken.push(value);
        return value;
      },
    },
    { serve: () => ({ back: (value: unknown) => value }) },
  );

  test.each(Object.keys(values))('%s', async (name) => {
    taken.length = 0;
    const arrived = await all.run(async ({ host }, name) => {
      const given = host.give(name);
      return [given, host.take(given), await host.async.take([given])];
    }, name);
    const value = values[name];
    expect(arrived).toEqual([value, value, [value]]);
    expect(taken).toEqual([value, [value]]);
    expect(await all.bridge.worker.back(value)).toEqual(value);
    if (name === 'undefined inside') expect(arrived[0]).toHaveProperty('a', undefined);
  });
});

describe('structure of values', () => {
  const all = useBridge({
    same: (one: unknown, other: unknown) => one === other,
    twice: () => [shared, shared],
    cycle: () => cycle,
    // biome-ignore lint/suspicious/noSparseArray: the test needs a hole
    sparse: () => [1, , 3],
    geometry: () => ({ error: new RangeError('inside'), date: new Date(Number.NaN) }),
  });

  test('a repeated object in one value stays one object', async () => {
    const kept = await all.run(({ host }) => {
      const [one, other] = host.twice() as [unknown, unknown];
      const circle = host.cycle() as { self: unknown };
      return [one === other, circle.self === circle];
    });
    expect(kept).toEqual([true, true]);
  });

  test('holes in arrays and errors in values are preserved', async () => {
    const found = await all.run(({ host }) => {
      const sparse = host.sparse();
      const { error, date } = host.geometry();
      return [
        1 in sparse,
        sparse.length,
        error instanceof RangeError,
        error.message,
        date.getTime(),
      ];
    });
    expect(found).toEqual([false, 3, true, 'inside', Number.NaN]);
  });

  test('an instance of a class arrives as a plain object with its properties', async () => {
    const answer = await all.run(({ host }) => {
      class Point {
        x = 1;
        y = 2;
        sum() {
          return this.x + this.y;
        }
      }
      return host.same(new Point(), new Point());
    });
    expect(answer).toBe(false);
  });
});
