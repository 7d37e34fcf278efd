/** What needs no memory of what came before, and what the codec asks the bridge. */
import { expect, test } from 'vitest';
import { CorruptMessageError } from '../ring/reader.js';
import { CodecPair, noReferences } from './model/codec-pair.js';
import type { ValueReferences } from './value.js';

test.each([
  undefined,
  null,
  true,
  false,
  0,
  -0,
  1,
  127,
  128,
  -1,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  0.1,
  Number.NaN,
  '',
  'text',
  '€\ud800',
])('the primitive %s', (value) => {
  expect(Object.is(new CodecPair().roundTrip(value), value)).toBe(true);
});

test('a view is sent, not all that its buffer holds', () => {
  const arrived = new CodecPair().roundTrip(new Uint8Array(1000).fill(4).subarray(10, 12));
  expect([arrived.byteLength, arrived.buffer.byteLength, arrived[1]]).toEqual([2, 2, 4]);
});

test('the bridge is asked for functions and objects of classes', () => {
  const own = new (class Own {})();
  const other = new (class Other {
    value = 1;
  })();
  const known: object[] = [() => {}, own];
  const questions: unknown[] = [];
  const references: ValueReferences = {
    numberOf(value) {
      questions.push(value);
      return known.indexOf(value);
    },
    numberByMessage: () => -1,
    valueOf: (number) => known[number],
  };
  const codec = new CodecPair(references);
  for (const value of known) expect(codec.roundTrip(value)).toBe(value);
  expect([codec.roundTrip(other), codec.roundTrip({}), codec.roundTrip([])]).toEqual([
    { value: 1 },
    {},
    [],
  ]);
  expect(questions).toEqual([...known, other]);
});

test('what the bridge refuses leaves nothing behind', () => {
  const codec = new CodecPair({
    ...noReferences,
    numberOf() {
      throw new RangeError('no more numbers');
    },
  });
  const shaped = { a: 1, b: 'two' };
  for (let times = 0; times < 3; times++) {
    expect(() => codec.write(shaped, shaped, () => {})).toThrow('no more numbers');
  }
  expect(codec.roundTrip(shaped)).toEqual(shaped);
});

test('what begins with no tag is no value', () => {
  const codec = new CodecPair();
  codec.write(1);
  codec.writer.u8[codec.writer.start] = 100;
  expect(() => codec.read()).toThrow(CorruptMessageError);
});
