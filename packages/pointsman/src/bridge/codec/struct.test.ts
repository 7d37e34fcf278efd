/**
 * Values of a known schema, by compiled source text and without: what one writes, the other reads.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Memory } from '../ring/memory.js';
import { CorruptMessageError, Reader } from '../ring/reader.js';
import { Writer } from '../ring/writer.js';
import { mayCompile } from './compile.js';
import type { Read, Write } from './schema.js';
import {
  bool,
  bytes,
  compile,
  f64,
  type Infer,
  i32,
  list,
  optional,
  record,
  type Schema,
  string,
} from './struct.js';
import { compileRead, compileWrite } from './struct-source.js';
import { reads, writes } from './struct-walk.js';

interface Way {
  readonly name: string;
  write(schema: Schema): Write;
  read(schema: Schema): Read;
}

const ways: readonly Way[] = [
  { name: 'walking', write: writes, read: reads },
  ...(mayCompile() ? [{ name: 'compiled', write: compileWrite, read: compileRead }] : []),
];

const regions: readonly (readonly [start: number, end: number])[] = [
  [8, 1024],
  [24, 24],
  [16, 56],
];

const memory = new Memory(new (globalThis.SharedArrayBuffer ?? ArrayBuffer)(1024));

function written(write: Write, value: unknown, [start, end]: readonly [number, number]): Writer {
  const writer = new Writer(1 << 24);
  writer.open(memory, start, end);
  // The message does not begin with it.
  writer.byte(1);
  write(writer, value);
  return writer;
}

/** What arrives, whichever way it goes, in memory of any size. */
function expectToArrive(schema: Schema, value: unknown, expected = value): void {
  const messages = new Set<string>();
  for (const from of ways) {
    for (const region of regions) {
      const writer = written(from.write(schema), value, region);
      for (const to of ways) {
        const reader = new Reader();
        reader.open(writer.memory, writer.start, writer.position);
        expect(reader.byte()).toBe(1);
        expect(to.read(schema)(reader)).toStrictEqual(expected);
        expect(reader.position).toBe(writer.position);
      }
      messages.add(String(writer.length));
    }
  }
  expect(messages.size).toBe(1);
}

/** A schema, a value of it, and what is read of the value. */
interface Sample {
  readonly schema: Schema;
  readonly value: unknown;
  readonly expected: unknown;
}

const sample = (schema: Schema, values: fc.Arbitrary<unknown>): fc.Arbitrary<Sample> =>
  values.map((value) => ({ schema, value, expected: value }));

const samples = fc.letrec<{
  any: Sample;
  record: Sample;
  list: Sample;
  optional: Sample;
  leaf: Sample;
}>((tie) => ({
  leaf: fc.oneof(
    sample(f64 as Schema, fc.double()),
    sample(i32 as Schema, fc.integer()),
    sample(bool as Schema, fc.boolean()),
    sample(string as Schema, fc.string({ unit: 'binary', maxLength: 60 })),
    sample(bytes as Schema, fc.uint8Array({ maxLength: 20 })),
  ),
  any: fc.oneof({ depthSize: 'medium' }, tie('leaf'), tie('record'), tie('list'), tie('optional')),
  record: fc
    .uniqueArray(
      fc.tuple(fc.oneof(fc.constantFrom('__proto__', 'a b', '1', "it's"), fc.string()), tie('any')),
      {
        maxLength: 12,
        selector: ([key]) => key,
      },
    )
    .map((fields) => ({
      schema: record(
        Object.fromEntries(fields.map(([key, field]) => [key, (field as Sample).schema])),
      ) as Schema,
      value: Object.fromEntries(fields.map(([key, field]) => [key, (field as Sample).value])),
      expected: Object.fromEntries(fields.map(([key, field]) => [key, (field as Sample).expected])),
    })),
  list: fc.tuple(tie('any'), fc.nat(5)).map(([item, count]) => ({
    schema: list((item as Sample).schema) as Schema,
    value: new Array(count).fill((item as Sample).value),
    expected: new Array(count).fill((item as Sample).expected),
  })),
  optional: fc.tuple(tie('any'), fc.boolean()).map(([item, there]) => ({
    schema: optional((item as Sample).schema) as Schema,
    value: there ? (item as Sample).value : undefined,
    expected: there ? (item as Sample).expected : undefined,
  })),
}));

describe('what is written is read', () => {
  test('of any schema', () => {
    fc.assert(
      fc.property(samples.any, ({ schema, value, expected }) =>
        expectToArrive(schema, value, expected),
      ),
      { numRuns: 300 },
    );
  });

  test('with all sorts of values in one record', () => {
    const schema = record({
      x: f64,
      n: i32,
      yes: bool,
      no: bool,
      name: string,
      data: bytes,
      points: list(record({ x: f64, y: f64 })),
      numbers: list(f64),
      more: list(i32),
      flags: list(bool),
      maybe: optional(f64),
      missing: optional(string),
      inner: record({ z: f64, deeper: record({ a: i32, b: bool, c: string }) }),
      group: optional(record({ id: i32 })),
      gaps: list(optional(f64)),
      nothing: record({}),
    });
    const value: Infer<typeof schema> = {
      x: -0,
      n: -(2 ** 31),
      yes: true,
      no: false,
      name: 'näme €',
      data: new Uint8Array([1, 2, 3]),
      points: [
        { x: 1.5, y: 2 },
        { x: 3, y: Number.NaN },
      ],
      numbers: [1, 2, 3.5],
      more: [1, -1],
      flags: [true, false, true],
      maybe: 5,
      missing: undefined,
      inner: { z: Number.POSITIVE_INFINITY, deeper: { a: 1, b: true, c: '' } },
      group: { id: 7 },
      gaps: [1, undefined, 3],
      nothing: {},
    };
    expectToArrive(schema as Schema, value);
  });

  test('keys keep the order of the schema, and those that are not in it stay behind', () => {
    const schema = record({ b: string, a: f64, c: bool });
    const value = { c: true, a: 1, extra: 2, b: 'x' };
    for (const { write, read } of ways) {
      const writer = written(write(schema as Schema), value, [0, 1024]);
      const reader = new Reader();
      reader.open(writer.memory, 1, writer.position);
      expect(JSON.stringify(read(schema as Schema)(reader))).toBe('{"b":"x","a":1,"c":true}');
    }
  });

  test('more bits than fit into a byte', () => {
    const keys = Array.from({ length: 19 }, (_, index) => `k${index}`);
    const schema = record(
      Object.fromEntries(keys.map((key, index) => [key, index % 3 ? bool : optional(i32)])),
    );
    for (let one = 0; one < keys.length; one += 1) {
      const value = Object.fromEntries(
        keys.map((key, index) => [
          key,
          index % 3 ? index === one : index === one ? index : undefined,
        ]),
      );
      expectToArrive(schema as Schema, value);
    }
  });

  test('the types of the values follow from the schema', () => {
    const schema = record({ x: f64, tags: list(string), note: optional(string) });
    const compiled = compile(schema);
    const writer = new Writer(1000);
    writer.open(memory, 0, 1024);
    compiled.write(writer, { x: 1, tags: [] });
    // @ts-expect-error x is no string
    expect(() => compiled.write(writer, { x: '1', tags: [] })).toThrow(TypeError);
    // @ts-expect-error tags are missing
    expect(() => compiled.write(writer, { x: 1 })).toThrow(TypeError);
    const reader = new Reader();
    reader.open(memory, 0, writer.position);
    const { x, tags, note }: { x: number; tags: string[]; note?: string | undefined } =
      compiled.read(reader);
    expect([x, tags, note]).toEqual([1, [], undefined]);
  });
});

describe('what does not fit is refused', () => {
  const schema = record({
    items: list(record({ x: f64, 'the name': optional(string) })),
    count: i32,
    inner: record({ on: bool, data: optional(bytes), rows: list(list(f64)) }),
  });
  const good = {
    items: [{ x: 1 }, { x: 2 }, { x: 3, 'the name': 'n' }],
    count: 1,
    inner: { on: true, rows: [[1]] },
  };

  test.for<[unknown, string]>([
    [null, 'arguments[0] must be an object, got null'],
    [5, 'arguments[0] must be an object, got 5'],
    [{ ...good, items: {} }, 'arguments[0].items must be an array, got object'],
    [
      { ...good, items: [{ x: 1 }, { x: 1 }, { x: '1' }] },
      'arguments[0].items[2].x must be a number, got "1"',
    ],
    [
      { ...good, items: [{ x: 1, 'the name': 1 }] },
      'arguments[0].items[0]["the name"] must be a string, got 1',
    ],
    [{ ...good, items: [undefined] }, 'arguments[0].items[0] must be an object, got undefined'],
    [
      { ...good, count: 1.5 },
      'arguments[0].count must be an integer from -2147483648 to 2147483647, got 1.5',
    ],
    [{ ...good, count: 2 ** 31 }, 'arguments[0].count must be an integer'],
    [{ ...good, count: '1' }, 'arguments[0].count must be an integer'],
    [{ ...good, inner: null }, 'arguments[0].inner must be an object, got null'],
    [{ ...good, inner: { on: 1, rows: [] } }, 'arguments[0].inner.on must be a boolean, got 1'],
    [
      { ...good, inner: { on: true, rows: [], data: [1] } },
      'arguments[0].inner.data must be a Uint8Array, got object',
    ],
    [
      { ...good, inner: { on: true, rows: [[1], [1, null]] } },
      'arguments[0].inner.rows[1][1] must be a number, got null',
    ],
  ])('%o', ([value, message]) => {
    const writer = new Writer(1 << 20);
    writer.open(memory, 0, 1024);
    expect(() => compile(schema, 'arguments[0]').write(writer, value as typeof good)).toThrow(
      message,
    );
    for (const { write } of ways) {
      expect(() => written(write(schema as Schema), good, [0, 1024])).not.toThrow();
      let thrown: unknown;
      try {
        written(write(schema as Schema), value, [0, 1024]);
      } catch (error) {
        thrown = error;
      }
      expect(typeof thrown).toBe('symbol');
    }
  });

  test('a number out of range is a RangeError, a value of another type a TypeError', () => {
    const writer = new Writer(100);
    writer.open(memory, 0, 1024);
    expect(() => compile(i32).write(writer, 0.5)).toThrow(RangeError);
    expect(() => compile(i32).write(writer, '1' as never)).toThrow(TypeError);
    expect(() => compile(i32).write(writer, '1' as never)).toThrow('value must be an integer');
  });

  test('a getter that says something else each time', () => {
    let times = 0;
    const value = {
      get x() {
        times += 1;
        return times === 1 ? '1' : 1;
      },
    };
    const writer = new Writer(100);
    writer.open(memory, 0, 1024);
    expect(() => compile(record({ x: f64 })).write(writer, value as never)).toThrow(
      'value must not change while it is written',
    );
  });
});

test('a message that was cut off is refused', () => {
  const schema = record({ x: f64, name: string, list: list(f64), items: list(record({ a: i32 })) });
  const value = { x: 1, name: 'name', list: [1, 2], items: [{ a: 1 }, { a: 2 }] };
  for (const { write, read } of ways) {
    const writer = written(write(schema as Schema), value, [0, 1024]);
    for (let end = 1; end < writer.position; end += 1) {
      const reader = new Reader();
      reader.open(writer.memory, 1, end);
      expect(() => read(schema as Schema)(reader)).toThrow(CorruptMessageError);
    }
  }
});
