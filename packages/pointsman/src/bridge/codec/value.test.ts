/**
 * The way in that all codecs share: what never reaches a codec, and what happens when one fails.
 */
import { expect, test } from 'vitest';
import { CorruptMessageError } from '../ring/reader.js';
import type { Codec, References } from './codec.js';
import { Line, noReferences } from './model/line.js';

/** A codec that says what it was asked. */
function spy() {
  const asked: string[] = [];
  const sent: unknown[] = [];
  const codec: Codec = {
    name: 'spy',
    encoder: () => ({
      encode(_writer, value) {
        asked.push('encode');
        sent.push(value);
      },
      abandon: () => asked.push('abandon'),
    }),
    decoder: () => ({ decode: () => sent.shift() }),
  };
  return { asked, codec };
}

test('primitives and bytes need no codec', () => {
  const { asked, codec } = spy();
  const line = new Line(codec);
  for (const value of [
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
    new Uint8Array([1, 2, 3]),
    new Uint8Array(100_000).fill(3),
  ]) {
    const arrived = line.pass(value);
    if (value instanceof Uint8Array) {
      expect(Object.getPrototypeOf(arrived)).toBe(Uint8Array.prototype);
      expect([...(arrived as Uint8Array)].join()).toBe([...value].join());
    } else {
      expect(Object.is(arrived, value)).toBe(true);
    }
  }
  expect(asked).toEqual([]);
});

test('a view is sent, not all that its buffer holds', () => {
  const line = new Line(spy().codec);
  const arrived = line.pass(new Uint8Array(1000).fill(4).subarray(10, 12));
  expect([arrived.byteLength, arrived.buffer.byteLength, arrived[1]]).toEqual([2, 2, 4]);
});

test('the codec gets the rest', () => {
  const { asked, codec } = spy();
  const line = new Line(codec);
  for (const value of [{}, [], Object.create(null), 5n, new Map(), new Uint16Array(1)]) {
    expect(line.pass(value)).toBe(value);
  }
  expect(asked).toEqual(new Array(6).fill('encode'));
});

test('the bridge is asked for functions and objects of classes, before the codec', () => {
  const { asked, codec } = spy();
  const own = new (class Own {})();
  const other = new (class Other {})();
  const known: object[] = [() => {}, own];
  const questions: unknown[] = [];
  const references: References = {
    numberOf(value) {
      questions.push(value);
      return known.indexOf(value);
    },
    numberByMessage: () => -1,
    valueOf: (number) => known[number],
  };
  const line = new Line(codec, references);
  for (const value of [...known, other, {}, []]) expect(line.pass(value)).toBe(value);
  expect(questions).toEqual([...known, other]);
  expect(asked).toEqual(['encode', 'encode', 'encode']);
});

test('when a value cannot be written, the codec forgets the message', () => {
  const { asked, codec } = spy();
  const line = new Line(codec, {
    ...noReferences,
    numberOf() {
      throw new RangeError('no more numbers');
    },
  });
  expect(() => line.write({}, () => {})).toThrow('no more numbers');
  expect(asked).toEqual(['encode', 'abandon']);
});

test('what begins with no tag is no value', () => {
  const line = new Line(spy().codec);
  line.write(1);
  line.writer.u8[line.writer.start] = 100;
  expect(() => line.read()).toThrow(CorruptMessageError);
});
