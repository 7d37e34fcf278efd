/**
 * The codec over cbor-x: what CBOR can say arrives, and so does what only the bridge can pass on.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DataCloneError } from '../../transport/clone-errors.js';
import { cbor } from './cbor.js';
import type { References } from './codec.js';
import { graphOf, Line, noReferences, shared } from './model/line.js';

const key = fc.string({ maxLength: 8 }).filter((text) => text !== '__proto__');

/** What CBOR has a form for. */
const values = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, undefined, true, false),
    fc.integer(),
    fc.double({ noNaN: true }).filter((value) => !Object.is(value, -0)),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }),
    fc.uint8Array({ maxLength: 20 }),
    fc.float64Array({ maxLength: 5, noNaN: true }),
    fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }),
    fc.array(tie('any'), { maxLength: 5 }),
    fc.dictionary(key, tie('any'), { maxKeys: 5, noNullPrototype: true }),
    fc.array(fc.tuple(tie('any'), tie('any')), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie('any'), { maxLength: 3 }).map((items) => new Set(items)),
  ),
})).any;

test('what is written is read, in memory of any size', () => {
  const small = [0, 24, 64, 4096].map(
    (bytes) => new Line(cbor(), noReferences, { ...shared(8192), start: 4096, end: 4096 + bytes }),
  );
  fc.assert(
    fc.property(values, fc.constantFrom(...small), (value, line) => {
      expect(line.pass(value)).toEqual(value);
      expect(line.pass({ value })).toEqual({ value });
    }),
    { numRuns: 200 },
  );
});

test('bytes arrive in memory of their own', () => {
  const line = new Line(cbor());
  const { a, b } = line.pass({ a: new Uint8Array([1, 2]), b: new Uint8Array([3]) });
  expect([...a, ...b]).toEqual([1, 2, 3]);
  expect(a.buffer === b.buffer).toBe(false);
});

test('the same object stays the same, and cycles stay cycles', () => {
  const line = new Line(cbor());
  const value: Record<string, unknown> = { list: [{ x: 1 }] };
  value.self = value;
  value.again = value.list;
  expect(graphOf(line.pass(value))).toEqual(graphOf(value));
});

test('errors keep their message', () => {
  const arrived = new Line(cbor()).pass({ error: new TypeError('wrong') }).error;
  expect(arrived).toBeInstanceOf(Error);
  expect(arrived.message).toBe('wrong');
});

describe('references', () => {
  const known: object[] = [() => 1, new AbortController().signal, new (class Remote {})()];
  const references: References = {
    numberOf: (value) => known.indexOf(value),
    numberByMessage: () => -1,
    valueOf: (number) => known[number],
  };

  test('stand wherever a value may stand', () => {
    const line = new Line(cbor(), references);
    const [callback, signal, remote] = known;
    expect(line.pass(callback)).toBe(callback);
    const arrived = line.pass({
      callback,
      deep: [signal, new Map([[remote, { callback }]]), new Set([callback])],
    });
    expect(arrived.callback).toBe(callback);
    expect(arrived.deep[0]).toBe(signal);
    expect([...(arrived.deep[1] as Map<unknown, unknown>)]).toEqual([[remote, { callback }]]);
    expect([...(arrived.deep[2] as Set<unknown>)]).toEqual([callback]);
  });

  test('stand in a value with cycles', () => {
    const line = new Line(cbor(), references);
    const value: Record<string, unknown> = { callback: known[0], list: [{ x: 1 }] };
    value.self = value;
    value.again = value.list;
    const arrived = line.pass(value);
    expect(arrived.callback).toBe(known[0]);
    expect(arrived.self).toBe(arrived);
    expect(arrived.again).toBe(arrived.list);
  });
});

test.for<[unknown, string]>([
  [{ items: [0, { fn() {} }] }, 'value.items[1].fn cannot be cloned: it is a function'],
  [[Symbol('s')], 'value[0] cannot be cloned: it is a symbol'],
  [
    new Map([['k', Promise.resolve()]]),
    'value.get("k") cannot be cloned: it is an object of the platform',
  ],
])('%o cannot be cloned', ([value, message]) => {
  const line = new Line(cbor());
  expect(() => line.pass(value)).toThrow(DataCloneError);
  expect(() => line.pass(value)).toThrow(message);
  expect(line.pass({ fine: 1 })).toEqual({ fine: 1 });
});
