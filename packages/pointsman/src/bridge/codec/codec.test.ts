/** Values over the codec, compared with the platform's structured clone where both support them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CodecPair, graphOf, noReferences, shared } from './model/codec-pair.js';
import { records } from './model/records.js';

const anything = fc.anything({
  maxDepth: 4,
  maxKeys: 8,
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: false,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
});

/** Arbitrary object graphs. */
const graphs = fc
  .array(
    fc.record({
      kind: fc.constantFrom('object', 'array', 'map', 'set', 'error'),
      to: fc.array(fc.nat(30), { maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((nodes) => {
    const made = nodes.map(({ kind }) => {
      if (kind === 'array') return [];
      if (kind === 'map') return new Map();
      if (kind === 'set') return new Set();
      return kind === 'error' ? new Error('node') : {};
    });
    for (const [index, { to }] of nodes.entries()) {
      const from: unknown = made[index];
      for (const [each, target] of to.entries()) {
        const value = made[target % made.length];
        if (Array.isArray(from)) from.push(value);
        else if (from instanceof Map) from.set(each % 2 === 0 ? each : value, value);
        else if (from instanceof Set) from.add(value);
        else (from as Record<string, unknown>)[`to${each}`] = value;
      }
    }
    return made[0];
  });

describe('the codec agrees with structured clone', () => {
  test('for any value, in memory of any size', () => {
    const small = [0, 8, 24, 64, 256, 4096].map(
      (bytes) => new CodecPair(noReferences, { ...shared(8192), start: 4096, end: 4096 + bytes }),
    );
    fc.assert(
      fc.property(anything, fc.constantFrom(...small), (value, codec) => {
        expect(codec.roundTrip(value)).toStrictEqual(structuredClone(value));
      }),
      { numRuns: 400 },
    );
  });

  test('in memory that is not shared', () => {
    const codec = new CodecPair(noReferences, {
      ...shared(0),
      buffer: new ArrayBuffer(64),
      end: 64,
    });
    fc.assert(
      fc.property(anything, (value) => {
        expect(codec.roundTrip(value)).toStrictEqual(structuredClone(value));
      }),
    );
  });

  test('for objects with repeated shapes', () => {
    const codec = new CodecPair();
    fc.assert(
      fc.property(fc.array(records, { minLength: 1, maxLength: 12 }), (values) => {
        for (const value of values) {
          const arrived = codec.roundTrip(value);
          expect(arrived).toStrictEqual(structuredClone(value));
          expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('for object graphs', () => {
    const codec = new CodecPair();
    fc.assert(
      fc.property(graphs, (value) => {
        const arrived = codec.roundTrip({ value, and: [value] });
        expect(graphOf(arrived)).toEqual(graphOf({ value, and: [value] }));
      }),
      { numRuns: 300 },
    );
  });

  test('for texts', () => {
    const codec = new CodecPair();
    const unit = fc.oneof(
      fc.nat(127),
      fc.nat(255),
      fc.nat(0xffff),
      fc.integer({ min: 0xd800, max: 0xdfff }),
    );
    const text = fc
      .tuple(fc.array(unit, { maxLength: 80 }), fc.constantFrom(1, 1, 1, 3, 1000))
      .map(([units, times]) => String.fromCharCode(...units).repeat(times));
    fc.assert(
      fc.property(text, (value) => {
        expect(codec.roundTrip(value) === value).toBe(true);
        expect(codec.roundTrip([value])[0] === value).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});

describe('values', () => {
  const codec = new CodecPair();

  test.for([
    undefined,
    null,
    true,
    false,
    0,
    -0,
    1,
    0.1,
    2 ** 31 - 1,
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    2 ** 31,
    -(2 ** 31),
    127,
    128,
    -1,
    2n ** 63n,
    -(2n ** 63n),
    2n ** 200n,
    -(2n ** 200n),
    '',
    'text',
    '\ud800',
    '€\ud800',
    'a\udfff'.repeat(100),
    '\ufeffbom'.repeat(30),
    new Date(Number.NaN),
    /a\/b\u2028/giu,
    [[-0, 0, Number.NaN]],
    [1, '2', -0],
    new Array(3),
    // biome-ignore lint/suspicious/noSparseArray: the test needs a hole
    [1, , undefined, , 5],
    new Uint8Array(0),
    new Float64Array([1.5, Number.NaN, -0]),
    new BigInt64Array([1n, -1n]),
    new DataView(new Uint8Array([1, 2, 3]).buffer),
    new Uint16Array([1, 2, 3]).buffer,
    Object(-0),
    Object('text'),
    Object(true),
    Object(5n),
    new Map<unknown, unknown>([[{ key: 1 }, new Map([[1, new Set([undefined])]])]]),
  ])('%o', (value) => {
    expect(codec.roundTrip(value)).toStrictEqual(value);
    expect(codec.roundTrip({ value })).toStrictEqual({ value });
    expect(codec.roundTrip([value, value])).toStrictEqual([value, value]);
  });

  test('a sparse array may be very long', () => {
    const value: unknown[] = [1];
    value[4_000_000_000] = 'end';
    const arrived = codec.roundTrip(value);
    expect(arrived.length).toBe(4_000_000_001);
    expect(Object.entries(arrived)).toEqual([
      ['0', 1],
      ['4000000000', 'end'],
    ]);
  });

  test('keys keep their order, including special names', () => {
    for (let times = 0; times < 20; times += 1) {
      const value = JSON.parse(`{"b":${times},"__proto__":{"polluted":1},"constructor":2,"a":"x"}`);
      const arrived = codec.roundTrip(value) as object;
      expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
      expect(Object.getPrototypeOf(arrived)).toBe(Object.prototype);
      expect('polluted' in arrived).toBe(false);
    }
  });

  test('objects with many keys', () => {
    for (const count of [64, 65, 1000]) {
      const value = Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`k${index}`, index]),
      );
      for (let times = 0; times < 3; times += 1) {
        expect(JSON.stringify(codec.roundTrip(value))).toBe(JSON.stringify(value));
      }
    }
  });

  test('more shapes and paths than the tables hold', () => {
    const own = new CodecPair();
    for (let times = 0; times < 3; times += 1) {
      for (let each = 0; each < 3000; each += 1) {
        const value = { [`a${each}`]: each, same: 1, [`b${each % 7}`]: { deep: each / 2 } };
        expect(JSON.stringify(own.roundTrip(value))).toBe(JSON.stringify(value));
      }
    }
  });

  test('a property may change from a number to another type', () => {
    const own = new CodecPair();
    for (const x of [1, 2, 3.5, 'a', 4, null, undefined, { x: 1 }, 5, [6], 7]) {
      for (const y of [1, 'b', 2.5]) {
        expect(own.roundTrip({ x, y, z: 1 })).toStrictEqual({ x, y, z: 1 });
      }
    }
  });

  test('an instance of a class becomes a plain object with its own properties', () => {
    class Point {
      x = 1;
      get sum() {
        return this.x;
      }
    }
    Object.defineProperty(Point.prototype, 'inherited', { value: 1, enumerable: true });
    for (let times = 0; times < 3; times += 1) codec.roundTrip({ x: 1, inherited: 1 });
    for (let times = 0; times < 20; times += 1) {
      const arrived = codec.roundTrip({ point: new Point(), bare: Object.create(null, {}) });
      expect(arrived).toStrictEqual({ point: { x: 1 }, bare: {} });
    }
  });

  test('an instance of a derived class becomes one of the built-in class', () => {
    const arrived = codec.roundTrip([
      new (class extends Map<number, number> {})([[1, 2]]),
      new (class extends Array<number> {})(1, 2),
      new (class extends Uint8Array {})([1, 2]),
      new (class extends Date {})(5),
    ]);
    expect(arrived).toStrictEqual([new Map([[1, 2]]), [1, 2], new Uint8Array([1, 2]), new Date(5)]);
  });

  test('properties of Object.prototype are not sent', () => {
    const value = { x: 1, y: 2 };
    // Defines the shape with the keys that a loop finds in `value` once `z` is inherited.
    for (let times = 0; times < 3; times += 1) codec.roundTrip({ ...value, z: 1 });
    const everywhere = Object.prototype as { z?: number };
    everywhere.z = 3;
    const arrived = [codec.roundTrip(value), codec.roundTrip(value), codec.roundTrip(value)];
    delete everywhere.z;
    for (const each of arrived) expect(Object.keys(each)).toEqual(['x', 'y']);
  });

  test('bytes arrive in their own memory', () => {
    const sent = new Uint8Array(100_000).fill(7);
    const arrived = codec.roundTrip({ sent }).sent;
    expect(arrived.buffer).toBeInstanceOf(ArrayBuffer);
    expect(arrived.buffer.byteLength).toBe(100_000);
    codec.roundTrip({ sent: new Uint8Array(100_000).fill(8) });
    expect(arrived.every((byte) => byte === 7)).toBe(true);
  });

  test('a view arrives with a buffer of only its own bytes', () => {
    const arrived = codec.roundTrip(new Uint8Array(1000).fill(4).subarray(10, 12));
    expect([arrived.byteLength, arrived.buffer.byteLength, arrived[1]]).toEqual([2, 2, 4]);
  });

  test('geometry objects, if the platform has them', () => {
    const globals = globalThis as unknown as Record<
      string,
      (new (...of: unknown[]) => object) | undefined
    >;
    for (const [name, ...values] of [
      ['DOMRect', 1.5, 2, 3, 4],
      ['DOMRectReadOnly', -1, 2, 3, 4],
      ['DOMPoint', 1, 2, 3, 4],
      ['DOMMatrix', [1, 2, 3, 4, 5, 6]],
      ['DOMMatrixReadOnly', Array.from({ length: 16 }, (_, index) => index)],
    ] as const) {
      const Class = globals[name];
      if (Class === undefined) continue;
      const value = new Class(...values);
      const arrived = codec.roundTrip({ value }).value;
      expect(arrived).toBeInstanceOf(Class);
      expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
    }
  });
});

describe('a repeated object', () => {
  const codec = new CodecPair();

  test('keeps its identity in small and large values', () => {
    for (const count of [0, 1, 20, 30, 5000]) {
      const same = { x: 1 };
      const value = [same, ...Array.from({ length: count }, (_, x) => ({ x })), same];
      const arrived = codec.roundTrip(value);
      expect(arrived).toEqual(value);
      expect(arrived[0]).toBe(arrived.at(-1));
    }
  });

  test('keeps its identity for every type', () => {
    for (const same of [
      new Date(1),
      /a/,
      new Map(),
      new Set(),
      new Uint8Array(3),
      new Float32Array(3),
      new ArrayBuffer(3),
      new Error('x'),
      Object(1),
      [1, 2],
      ['a'],
    ]) {
      const [first, second] = codec.roundTrip([same, same]);
      expect(first).toStrictEqual(same);
      expect(first).toBe(second);
    }
  });

  test('is a separate copy in the next value of a message', () => {
    const same = { x: 1 };
    codec.write(same, same);
    const [first, second] = codec.read(2);
    expect(first).toEqual(second);
    expect(first).not.toBe(second);
  });
});
