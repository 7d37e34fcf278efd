/** What needs no memory of what came before, and what the codec asks the bridge. */
import { expect, test } from 'vitest';
import { CorruptMessageError } from '../ring/reader.js';
import { Line, noReferences } from './model/line.js';
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
  expect(Object.is(new Line().pass(value), value)).toBe(true);
});

test('a view is sent, not all that its buffer holds', () => {
  const arrived = new Line().pass(new Uint8Array(1000).fill(4).subarray(10, 12));
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
  const line = new Line(references);
  for (const value of known) expect(line.pass(value)).toBe(value);
  expect([line.pass(other), line.pass({}), line.pass([])]).toEqual([{ value: 1 }, {}, []]);
  expect(questions).toEqual([...known, other]);
});

test('what the bridge refuses leaves nothing behind', () => {
  const line = new Line({
    ...noReferences,
    numberOf() {
      throw new RangeError('no more numbers');
    },
  });
  const shaped = { a: 1, b: 'two' };
  for (let times = 0; times < 3; times++) {
    expect(() => line.write(shaped, shaped, () => {})).toThrow('no more numbers');
  }
  expect(line.pass(shaped)).toEqual(shaped);
});

test('what begins with no tag is no value', () => {
  const line = new Line();
  line.write(1);
  line.writer.u8[line.writer.start] = 100;
  expect(() => line.read()).toThrow(CorruptMessageError);
});
