/** Values that fail to encode, and bytes that fail to decode. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DataCloneError } from '../../transport/clone-errors.js';
import { Memory } from '../ring/memory.js';
import { CorruptMessageError, Reader } from '../ring/reader.js';
import { MessageTooLargeError, Writer } from '../ring/writer.js';
import { Decoder } from './decoder.js';
import { Encoder } from './encoder.js';
import { CodecPair, noReferences, shared } from './model/codec-pair.js';
import { records } from './model/records.js';

describe('uncloneable values', () => {
  const codec = new CodecPair();

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
    expect(() => codec.roundTrip(value)).toThrow(DataCloneError);
    expect(() => codec.roundTrip(value)).toThrow(message);
    expect(() => codec.roundTrip(value)).toThrow(
      expect.objectContaining({ name: 'DataCloneError' }),
    );
  });

  test('more than 1,000 levels, counted along the shortest paths if these are too long', () => {
    const nodes = Array.from({ length: 1_500 }, (): { next?: object } => ({}));
    for (const [index, node] of nodes.entries()) node.next = nodes[index + 1] as object;
    const tooDeep = 'value cannot be cloned: it is nested';
    expect(() => codec.roundTrip(nodes[0])).toThrow(
      `${tooDeep} 1500 levels deep, and 1000 are possible`,
    );
    expect(() => codec.roundTrip(nodes)).toThrow(`${tooDeep} more than 1000 levels deep`);
    expect(codec.roundTrip(nodes[600])).toEqual(nodes[600]);
  });

  test('shared memory, if no message will be read', () => {
    if (typeof SharedArrayBuffer === 'undefined') return;
    expect(() => codec.roundTrip({ memory: new SharedArrayBuffer(8) })).toThrow(
      'value.memory cannot be cloned: it is an object that only a message can carry',
    );
  });

  test('the path is found in a value with cycles', () => {
    const value: Record<string, unknown> = { list: [] };
    value.self = value;
    value.bad = { deeper: () => {} };
    expect(() => codec.roundTrip(value)).toThrow('value.bad.deeper cannot be cloned');
  });
});

describe('a message that is not sent', () => {
  /** A value that cannot be cloned, after parts that define shapes. */
  const failing = records.map((record) => [
    record,
    record,
    { other: record },
    { bad: Symbol('bad') },
  ]);

  test('leaves no trace', () => {
    const codec = new CodecPair();
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
            if ('bad' in step) expect(() => codec.write(step.bad)).toThrow(DataCloneError);
            else expect(codec.roundTrip(step.value)).toStrictEqual(structuredClone(step.value));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('does not affect shapes that were defined before it', () => {
    const codec = new CodecPair();
    const sizeOf = (value: unknown) => {
      codec.roundTrip(value);
      return codec.writer.length;
    };
    const value = { first: 1, second: 'two' };
    const [first, , third] = [sizeOf(value), sizeOf(value), sizeOf(value)];
    expect(third).toBeLessThan(first as number);
    expect(() => codec.write(value, { x: 1 }, { x: 1 }, Symbol('bad'))).toThrow(DataCloneError);
    expect(sizeOf(value)).toBe(third);
  });

  test('leaves no trace of its earlier values', () => {
    const codec = new CodecPair();
    for (let times = 0; times < 20; times += 1) {
      const value = { [`key${times}`]: times, x: 1 };
      expect(() => codec.write(value, value, value, Symbol('bad'))).toThrow(DataCloneError);
      codec.write(value, value);
      expect(codec.read(2)).toEqual([value, value]);
    }
  });

  test('leaves no trace if it is abandoned', () => {
    const codec = new CodecPair();
    for (let times = 0; times < 20; times += 1) {
      const value = { [`key${times}`]: times, x: 1 };
      codec.write(value, value, value);
      codec.encoder.abandon?.();
      codec.write(value, value);
      expect(codec.read(2)).toEqual([value, value]);
    }
  });

  test('leaves no trace of a value that is overwritten', () => {
    const codec = new CodecPair();
    const { writer } = codec;
    const value = { x: 1, y: 'a' };
    codec.write();
    const begin = writer.length;
    for (let times = 0; times < 5; times += 1) codec.encoder.encode(writer, value);
    writer.position = writer.start + begin;
    codec.encoder.encode(writer, value);
    codec.encoder.encode(writer, value);
    const decoder = new Decoder(noReferences);
    codec.reader.open(writer.memory, writer.start, writer.position);
    expect([decoder.decode(codec.reader), decoder.decode(codec.reader)]).toEqual([value, value]);
  });

  test('leaves no trace if it is too large', () => {
    const codec = new CodecPair(noReferences, shared(256), 200);
    for (let times = 0; times < 20; times += 1) {
      const value = { [`key${times}`]: times, x: 1 };
      expect(() => codec.write(value, value, 'x'.repeat(300))).toThrow(MessageTooLargeError);
      codec.write(value, value);
      expect(codec.read(2)).toEqual([value, value]);
    }
  });
});

describe('getters', () => {
  test('may delete and change later properties', () => {
    const codec = new CodecPair();
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
      const arrived = codec.roundTrip(value);
      expect(Object.keys(arrived).filter((key) => key !== 'c')).toEqual(['a', 'b', 'd']);
      expect(arrived.c).toBe(undefined);
      // Once the shape is known, the key is present and undefined.
      if (times === 0) expect('c' in arrived).toBe(false);
      expect(arrived).toMatchObject({ a: 1, b: 'changed', d: 4 });
    }
  });

  test('may change the map that contains them', () => {
    const codec = new CodecPair();
    const map = new Map<unknown, unknown>();
    map.set('a', {
      get x() {
        map.delete('b');
        return 1;
      },
    });
    map.set('b', 2);
    expect(codec.roundTrip(map)).toEqual(new Map([['a', { x: 1 }]]));
  });

  test('that throw leave no trace', () => {
    const codec = new CodecPair();
    const bad = {
      x: 1,
      get y(): number {
        throw new RangeError('not today');
      },
    };
    for (let times = 0; times < 20; times += 1) {
      expect(() => codec.write([{ [`k${times}`]: 1 }, { [`k${times}`]: 1 }, bad])).toThrow(
        'not today',
      );
      expect(codec.roundTrip([{ [`k${times}`]: 1 }, { x: 1, y: 2 }])).toEqual([
        { [`k${times}`]: 1 },
        { x: 1, y: 2 },
      ]);
    }
  });

  test('must not encode values', () => {
    const codec = new CodecPair();
    const value = {
      get x() {
        codec.encoder.encode(codec.writer, {});
        return 1;
      },
    };
    expect(() => codec.roundTrip(value)).toThrow('must not send anything');
    expect(codec.roundTrip({ x: 1 })).toEqual({ x: 1 });
  });
});

describe('corrupt messages', () => {
  /** Returns the bytes of an encoded value. */
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

  test('a truncated message is rejected', () => {
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

  test('an unknown tag is rejected', () => {
    const codec = new CodecPair();
    codec.write(1);
    codec.writer.u8[codec.writer.start] = 100;
    expect(() => codec.read()).toThrow(CorruptMessageError);
  });
});
