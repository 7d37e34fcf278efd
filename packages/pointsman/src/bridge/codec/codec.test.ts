/**
 * The structured codec, against the platform's own structured clone where that can do the same.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DataCloneError } from '../../transport/clone-errors.js';
import { Memory } from '../ring/memory.js';
import { CorruptMessageError, Reader } from '../ring/reader.js';
import { MessageTooLargeError, Writer } from '../ring/writer.js';
import { Decoder } from './decoder.js';
import { Encoder } from './encoder.js';
import { graphOf, Line, noReferences, shared } from './model/line.js';
import type { ValueReferences } from './value.js';

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

/** Few keys and few sorts of values, so that the same shapes come again and again. */
const records = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.double(),
    fc.integer(),
    fc.constantFrom('a', 'ü', '€', undefined, null, true),
    tie('record'),
    fc.array(tie('value'), { maxLength: 4 }),
  ),
  record: fc.dictionary(fc.constantFrom('x', 'y', 'z', '__proto__', '1', 'k-k'), tie('value'), {
    noNullPrototype: true,
  }),
})).record;

/** Objects that refer to each other in any way. */
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

describe('what comes out is what structured clone makes of it', () => {
  test('of any value, in memory of any size', () => {
    const small = [0, 8, 24, 64, 256, 4096].map(
      (bytes) => new Line(noReferences, { ...shared(8192), start: 4096, end: 4096 + bytes }),
    );
    fc.assert(
      fc.property(anything, fc.constantFrom(...small), (value, line) => {
        expect(line.pass(value)).toStrictEqual(structuredClone(value));
      }),
      { numRuns: 400 },
    );
  });

  test('of memory that is not shared', () => {
    const line = new Line(noReferences, {
      ...shared(0),
      buffer: new ArrayBuffer(64),
      end: 64,
    });
    fc.assert(
      fc.property(anything, (value) => {
        expect(line.pass(value)).toStrictEqual(structuredClone(value));
      }),
    );
  });

  test('of objects whose shapes come again, one after the other over one line', () => {
    const line = new Line();
    fc.assert(
      fc.property(fc.array(records, { minLength: 1, maxLength: 12 }), (values) => {
        for (const value of values) {
          const arrived = line.pass(value);
          expect(arrived).toStrictEqual(structuredClone(value));
          expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('of objects that refer to each other', () => {
    const line = new Line();
    fc.assert(
      fc.property(graphs, (value) => {
        const arrived = line.pass({ value, and: [value] });
        expect(graphOf(arrived)).toEqual(graphOf({ value, and: [value] }));
      }),
      { numRuns: 300 },
    );
  });

  test('of texts', () => {
    const line = new Line();
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
        expect(line.pass(value) === value).toBe(true);
        expect(line.pass([value])[0] === value).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});

describe('values', () => {
  const line = new Line();

  test.for([
    -0,
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
    '\ud800',
    'a\udfff'.repeat(100),
    '\ufeffbom'.repeat(30),
    new Date(Number.NaN),
    /a\/b\u2028/giu,
    [[-0, 0, Number.NaN]],
    [1, '2', -0],
    new Array(3),
    // biome-ignore lint/suspicious/noSparseArray: it is what is tested
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
    expect(line.pass(value)).toStrictEqual(value);
    expect(line.pass({ value })).toStrictEqual({ value });
    expect(line.pass([value, value])).toStrictEqual([value, value]);
  });

  test('an array may be almost empty and very long', () => {
    const value: unknown[] = [1];
    value[4_000_000_000] = 'end';
    const arrived = line.pass(value);
    expect(arrived.length).toBe(4_000_000_001);
    expect(Object.entries(arrived)).toEqual([
      ['0', 1],
      ['4000000000', 'end'],
    ]);
  });

  test('the keys stay in their order, also those that look special', () => {
    for (let times = 0; times < 20; times += 1) {
      const value = JSON.parse(`{"b":${times},"__proto__":{"polluted":1},"constructor":2,"a":"x"}`);
      const arrived = line.pass(value) as object;
      expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
      expect(Object.getPrototypeOf(arrived)).toBe(Object.prototype);
      expect('polluted' in arrived).toBe(false);
    }
  });

  test('tables with many keys', () => {
    for (const count of [64, 65, 1000]) {
      const value = Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`k${index}`, index]),
      );
      for (let times = 0; times < 3; times += 1) {
        expect(JSON.stringify(line.pass(value))).toBe(JSON.stringify(value));
      }
    }
  });

  test('more shapes than the table holds, and more paths than are remembered', () => {
    const own = new Line();
    for (let times = 0; times < 3; times += 1) {
      for (let each = 0; each < 3000; each += 1) {
        const value = { [`a${each}`]: each, same: 1, [`b${each % 7}`]: { deep: each / 2 } };
        expect(JSON.stringify(own.pass(value))).toBe(JSON.stringify(value));
      }
    }
  });

  test('a value that was a number once need not be one again', () => {
    const own = new Line();
    for (const x of [1, 2, 3.5, 'a', 4, null, undefined, { x: 1 }, 5, [6], 7]) {
      for (const y of [1, 'b', 2.5]) {
        expect(own.pass({ x, y, z: 1 })).toStrictEqual({ x, y, z: 1 });
      }
    }
  });

  test('what a class has made becomes a plain object with its own properties', () => {
    class Point {
      x = 1;
      get sum() {
        return this.x;
      }
    }
    Object.defineProperty(Point.prototype, 'inherited', { value: 1, enumerable: true });
    for (let times = 0; times < 3; times += 1) line.pass({ x: 1, inherited: 1 });
    for (let times = 0; times < 20; times += 1) {
      const arrived = line.pass({ point: new Point(), bare: Object.create(null, {}) });
      expect(arrived).toStrictEqual({ point: { x: 1 }, bare: {} });
    }
  });

  test('what derives from a built-in class becomes one of that class', () => {
    const arrived = line.pass([
      new (class extends Map<number, number> {})([[1, 2]]),
      new (class extends Array<number> {})(1, 2),
      new (class extends Uint8Array {})([1, 2]),
      new (class extends Date {})(5),
    ]);
    expect(arrived).toStrictEqual([new Map([[1, 2]]), [1, 2], new Uint8Array([1, 2]), new Date(5)]);
  });

  test('what all objects inherit is not sent', () => {
    const value = { x: 1, y: 2 };
    // Whose keys are those that a loop will meet in the other.
    for (let times = 0; times < 3; times += 1) line.pass({ ...value, z: 1 });
    const everywhere = Object.prototype as { z?: number };
    everywhere.z = 3;
    const arrived = [line.pass(value), line.pass(value), line.pass(value)];
    delete everywhere.z;
    for (const each of arrived) expect(Object.keys(each)).toEqual(['x', 'y']);
  });

  test('bytes arrive in memory of their own', () => {
    const sent = new Uint8Array(100_000).fill(7);
    const arrived = line.pass({ sent }).sent;
    expect(arrived.buffer).toBeInstanceOf(ArrayBuffer);
    expect(arrived.buffer.byteLength).toBe(100_000);
    line.pass({ sent: new Uint8Array(100_000).fill(8) });
    expect(arrived.every((byte) => byte === 7)).toBe(true);
  });

  test('geometry, where there is some', () => {
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
      const arrived = line.pass({ value }).value;
      expect(arrived).toBeInstanceOf(Class);
      expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
    }
  });
});

describe('errors', () => {
  const line = new Line();

  test('keep what they say and where they come from', () => {
    class OwnError extends RangeError {
      override readonly name = 'OwnError';
      code = 'E_OWN';
      #hidden = 1;
      get hidden() {
        return this.#hidden;
      }
    }
    const cause = new TypeError('why');
    const error = new OwnError('what', { cause });
    const arrived = line.pass(error);
    expect(arrived).toBeInstanceOf(RangeError);
    expect([arrived.name, arrived.message, arrived.code]).toEqual(['OwnError', 'what', 'E_OWN']);
    expect(arrived.stack).toBe(error.stack);
    expect(arrived.cause).toBeInstanceOf(TypeError);
    expect((arrived.cause as Error).message).toBe('why');
    expect(Object.keys(arrived)).toEqual(Object.keys(error));
    expect('hidden' in arrived).toBe(false);
  });

  test('of each class of the language', () => {
    for (const Class of [
      Error,
      EvalError,
      RangeError,
      ReferenceError,
      SyntaxError,
      TypeError,
      URIError,
    ]) {
      const arrived = line.pass(new Class('m'));
      expect(Object.getPrototypeOf(arrived)).toBe(Class.prototype);
      expect(Object.keys(arrived)).toEqual([]);
      expect(`${arrived}`).toBe(`${Class.name}: m`);
      expect(Object.hasOwn(line.pass(new Class()), 'message')).toBe(false);
    }
  });

  test('that hold others, and themselves', () => {
    const error = new AggregateError([new Error('a'), 'b'], 'all');
    error.cause = error;
    const arrived = line.pass(error);
    expect(arrived).toBeInstanceOf(AggregateError);
    expect(arrived.errors.map(String)).toEqual(['Error: a', 'b']);
    expect(arrived.cause).toBe(arrived);
  });

  test('of the platform', () => {
    const arrived = line.pass(new DOMException('enough', 'AbortError'));
    expect(arrived).toBeInstanceOf(DOMException);
    expect([arrived.name, arrived.message, arrived.code]).toEqual(['AbortError', 'enough', 20]);
  });

  test('whose name is the class’s own only by inheritance', () => {
    class Named extends Error {}
    Named.prototype.name = 'Named';
    const arrived = line.pass(new Named('x'));
    expect(String(arrived)).toBe('Named: x');
    expect(Object.keys(arrived)).toEqual([]);
  });
});

describe('the same object', () => {
  const line = new Line();

  test('stays the same in a small value and in a large one', () => {
    for (const count of [0, 1, 20, 30, 5000]) {
      const same = { x: 1 };
      const value = [same, ...Array.from({ length: count }, (_, x) => ({ x })), same];
      const arrived = line.pass(value);
      expect(arrived).toEqual(value);
      expect(arrived[0]).toBe(arrived.at(-1));
    }
  });

  test('stays the same whatever it is', () => {
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
      const [first, second] = line.pass([same, same]);
      expect(first).toStrictEqual(same);
      expect(first).toBe(second);
    }
  });

  test('is another in the next value of a message', () => {
    const same = { x: 1 };
    line.write(same, same);
    const [first, second] = line.read(2);
    expect(first).toEqual(second);
    expect(first).not.toBe(second);
  });
});

describe('what cannot be cloned', () => {
  const line = new Line();

  test.for<[unknown, string]>([
    [{ items: [0, 1, 2, { fn() {} }] }, 'value.items[3].fn cannot be cloned: it is a function'],
    [Symbol('s'), 'value cannot be cloned: it is a symbol'],
    [{ 'a-b': { deep: Symbol('s') } }, 'value["a-b"].deep cannot be cloned: it is a symbol'],
    [
      new Map([['k', { p: Promise.resolve() }]]),
      'value.get("k").p cannot be cloned: it is an object of the platform',
    ],
    [{ weak: new WeakMap() }, 'value.weak cannot be cloned: it is an object of the platform'],
    [[(function* () {})()], 'value[0] cannot be cloned: it is an object of the platform'],
    [
      { controller: new AbortController().signal },
      'value.controller cannot be cloned: it is an object of the platform',
    ],
    [new Error('x', { cause: () => {} }), 'value.cause cannot be cloned: it is a function'],
  ])('%o', ([value, message]) => {
    expect(() => line.pass(value)).toThrow(DataCloneError);
    expect(() => line.pass(value)).toThrow(message);
    expect(() => line.pass(value)).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
  });

  test('more than 1,000 levels, counted along the shortest paths if these are too long', () => {
    const nodes = Array.from({ length: 1_500 }, (): { next?: object } => ({}));
    for (const [index, node] of nodes.entries()) node.next = nodes[index + 1] as object;
    const tooDeep = 'value cannot be cloned: it is nested';
    expect(() => line.pass(nodes[0])).toThrow(`${tooDeep} 1500 levels deep, and 1000 are possible`);
    expect(() => line.pass(nodes)).toThrow(`${tooDeep} more than 1000 levels deep`);
    expect(line.pass(nodes[600])).toEqual(nodes[600]);
  });

  test('shared memory, where no message will be read', () => {
    if (typeof SharedArrayBuffer === 'undefined') return;
    expect(() => line.pass({ memory: new SharedArrayBuffer(8) })).toThrow(
      'value.memory cannot be cloned: it is an object that only a message can carry',
    );
  });

  test('the place is found in a value with cycles', () => {
    const value: Record<string, unknown> = { list: [] };
    value.self = value;
    value.bad = { deeper: () => {} };
    expect(() => line.pass(value)).toThrow('value.bad.deeper cannot be cloned');
  });
});

describe('a message that is not sent', () => {
  /** A value that cannot be cloned, after whatever else it has taught the encoder. */
  const failing = records.map((record) => [
    record,
    record,
    { other: record },
    { bad: Symbol('bad') },
  ]);

  test('leaves no trace', () => {
    const line = new Line();
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            records.map((value) => ({ value })),
            failing.map((bad) => ({ bad })),
          ),
          {
            maxLength: 10,
          },
        ),
        (steps) => {
          for (const step of steps) {
            if ('bad' in step) expect(() => line.write(step.bad)).toThrow(DataCloneError);
            else expect(line.pass(step.value)).toStrictEqual(structuredClone(step.value));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('does not cost what was known before it', () => {
    const line = new Line();
    const sizeOf = (value: unknown) => {
      line.pass(value);
      return line.writer.length;
    };
    const value = { first: 1, second: 'two' };
    const [first, , third] = [sizeOf(value), sizeOf(value), sizeOf(value)];
    expect(third).toBeLessThan(first as number);
    expect(() => line.write(value, { x: 1 }, { x: 1 }, Symbol('bad'))).toThrow(DataCloneError);
    expect(sizeOf(value)).toBe(third);
  });

  test('leaves no trace of the values before the one that failed', () => {
    const line = new Line();
    for (let times = 0; times < 20; times += 1) {
      const value = { [`key${times}`]: times, x: 1 };
      expect(() => line.write(value, value, value, Symbol('bad'))).toThrow(DataCloneError);
      line.write(value, value);
      expect(line.read(2)).toEqual([value, value]);
    }
  });

  test('leaves no trace if it is abandoned for another reason', () => {
    const line = new Line();
    for (let times = 0; times < 20; times += 1) {
      const value = { [`key${times}`]: times, x: 1 };
      line.write(value, value, value);
      line.encoder.abandon?.();
      line.write(value, value);
      expect(line.read(2)).toEqual([value, value]);
    }
  });

  test('leaves no trace if its last value is written over', () => {
    const line = new Line();
    const { writer } = line;
    const value = { x: 1, y: 'a' };
    line.write();
    const begin = writer.length;
    for (let times = 0; times < 5; times += 1) line.encoder.encode(writer, value);
    writer.position = writer.start + begin;
    line.encoder.encode(writer, value);
    line.encoder.encode(writer, value);
    const decoder = new Decoder(noReferences);
    line.reader.open(writer.memory, writer.start, writer.position);
    expect([decoder.decode(line.reader), decoder.decode(line.reader)]).toEqual([value, value]);
  });

  test('leaves no trace if it is too large', () => {
    const line = new Line(noReferences, shared(256), 200);
    for (let times = 0; times < 20; times += 1) {
      const value = { [`key${times}`]: times, x: 1 };
      expect(() => line.write(value, value, 'x'.repeat(300))).toThrow(MessageTooLargeError);
      line.write(value, value);
      expect(line.read(2)).toEqual([value, value]);
    }
  });
});

describe('getters', () => {
  test('may take away and change what comes after them', () => {
    const line = new Line();
    for (let times = 0; times < 20; times += 1) {
      const value = {
        get a() {
          value.b = 'changed';
          delete value.c;
          return 1;
        },
        b: 2 as unknown,
        c: 3 as unknown,
        d: 4,
      };
      const arrived = line.pass(value);
      expect(Object.keys(arrived).filter((key) => key !== 'c')).toEqual(['a', 'b', 'd']);
      expect(arrived.c).toBe(undefined);
      // Not once the keys are known: then it is there, and undefined.
      if (times === 0) expect('c' in arrived).toBe(false);
      expect(arrived).toMatchObject({ a: 1, b: 'changed', d: 4 });
    }
  });

  test('may change the map that they are in', () => {
    const line = new Line();
    const map = new Map<unknown, unknown>();
    map.set('a', {
      get x() {
        map.delete('b');
        return 1;
      },
    });
    map.set('b', 2);
    expect(line.pass(map)).toEqual(new Map([['a', { x: 1 }]]));
  });

  test('that throw leave no trace', () => {
    const line = new Line();
    const bad = {
      x: 1,
      get y(): number {
        throw new RangeError('not today');
      },
    };
    for (let times = 0; times < 20; times += 1) {
      expect(() => line.write([{ [`k${times}`]: 1 }, { [`k${times}`]: 1 }, bad])).toThrow(
        'not today',
      );
      expect(line.pass([{ [`k${times}`]: 1 }, { x: 1, y: 2 }])).toEqual([
        { [`k${times}`]: 1 },
        { x: 1, y: 2 },
      ]);
    }
  });

  test('must not encode anything themselves', () => {
    const line = new Line();
    const value = {
      get x() {
        line.encoder.encode(line.writer, {});
        return 1;
      },
    };
    expect(() => line.pass(value)).toThrow('must not send anything');
    expect(line.pass({ x: 1 })).toEqual({ x: 1 });
  });
});

describe('references', () => {
  const known: object[] = [() => 1, new AbortController().signal, new (class Remote {})()];
  const references: ValueReferences = {
    numberOf: (value) => known.indexOf(value),
    numberByMessage: () => -1,
    valueOf: (number) => known[number],
  };

  test('stand wherever a value may stand', () => {
    const line = new Line(references);
    const [callback, signal, remote] = known;
    for (let times = 0; times < 20; times += 1) {
      expect(line.pass(callback)).toBe(callback);
      const value = { callback, deep: [signal, new Map([[remote, { callback }]])] };
      const arrived = line.pass(value);
      expect(arrived.callback).toBe(callback);
      expect(arrived.deep[0]).toBe(signal);
      expect([...(arrived.deep[1] as Map<unknown, unknown>)]).toEqual([[remote, { callback }]]);
    }
  });

  test('stand for what only a message can carry: shared memory, and views of it', () => {
    if (typeof SharedArrayBuffer === 'undefined') return;
    const carried: object[] = [];
    const line = new Line({
      numberOf: () => -1,
      numberByMessage: (value) => carried.push(value) - 1,
      valueOf: (number) => carried[number],
    });
    const memory = new SharedArrayBuffer(8);
    const views = [new Uint8Array(memory), new Int32Array(memory), new DataView(memory)];
    for (const value of [memory, ...views]) expect(line.pass(value)).toBe(value);
    const arrived = line.pass({ memory, views, own: new Uint8Array([1]) });
    expect(arrived.memory).toBe(memory);
    for (const [index, view] of views.entries()) expect(arrived.views[index]).toBe(view);
    expect(carried).not.toContain(arrived.own);
  });

  test('are not asked for what every codec knows', () => {
    const asked: unknown[] = [];
    const line = new Line({
      numberOf: (value) => {
        asked.push(value);
        return -1;
      },
      numberByMessage: () => -1,
      valueOf: () => undefined,
    });
    line.pass([
      {},
      [],
      new Map(),
      new Uint8Array(1),
      new Error('x'),
      new Date(),
      Object.create(null),
    ]);
    expect(asked).toEqual([]);
    const own = new (class Own {})();
    line.pass(own);
    expect(asked).toContain(own);
  });
});

describe('bytes that are no message', () => {
  /** A message as it was written. */
  function messageOf(value: unknown): Uint8Array {
    const writer = new Writer(1 << 20);
    writer.open(new Memory(new ArrayBuffer(0)), 0, 0);
    new Encoder(noReferences).encode(writer, value);
    return writer.u8.slice(writer.start, writer.position);
  }

  function decode(bytes: Uint8Array): unknown {
    const memory = new Memory(new ArrayBuffer((bytes.length + 7) & ~7));
    memory.u8.set(bytes);
    const reader = new Reader();
    reader.open(memory, 0, bytes.length);
    return new Decoder(noReferences).decode(reader);
  }

  test('a message that was cut off is refused', () => {
    const record = (x: number) => ({ x, y: 1.5, name: `record ${x}`, when: new Date(x) });
    const value = [
      record(1),
      record(2),
      record(3),
      'x'.repeat(100),
      [1.5, 2.5],
      2n ** 70n,
      new Map([[1, 2]]),
    ];
    const message = messageOf(value);
    expect(decode(message)).toStrictEqual(value);
    for (let length = 0; length < message.length; length += 1) {
      expect(() => decode(message.slice(0, length))).toThrow(CorruptMessageError);
    }
  });

  test('any bytes are refused or read, and never too many are believed', () => {
    const bytes = fc.array(fc.oneof(fc.nat(40), fc.nat(255)), { maxLength: 60 });
    fc.assert(
      fc.property(bytes, (list) => {
        try {
          decode(Uint8Array.from(list));
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
