/** Values that the codec passes by number: the bridge resolves the numbers. */
import { describe, expect, test } from 'vitest';
import { CodecPair, noReferences } from './model/codec-pair.js';
import type { ValueReferences } from './value.js';

const known: object[] = [() => 1, new AbortController().signal, new (class Remote {})()];
const references: ValueReferences = {
  numberOf: (value) => known.indexOf(value),
  numberByMessage: () => -1,
  valueOf: (number) => known[number],
};

describe('references', () => {
  test('occur wherever a value may occur', () => {
    const codec = new CodecPair(references);
    const [callback, signal, remote] = known;
    for (let times = 0; times < 20; times += 1) {
      expect(codec.roundTrip(callback)).toBe(callback);
      const value = { callback, deep: [signal, new Map([[remote, { callback }]])] };
      const arrived = codec.roundTrip(value);
      expect(arrived.callback).toBe(callback);
      expect(arrived.deep[0]).toBe(signal);
      expect([...(arrived.deep[1] as Map<unknown, unknown>)]).toEqual([[remote, { callback }]]);
    }
  });

  test('represent values that only a message can carry: shared memory and its views', () => {
    if (typeof SharedArrayBuffer === 'undefined') return;
    const carried: object[] = [];
    const codec = new CodecPair({
      numberOf: () => -1,
      numberByMessage: (value) => carried.push(value) - 1,
      valueOf: (number) => carried[number],
    });
    const memory = new SharedArrayBuffer(8);
    const views = [new Uint8Array(memory), new Int32Array(memory), new DataView(memory)];
    for (const value of [memory, ...views]) expect(codec.roundTrip(value)).toBe(value);
    const arrived = codec.roundTrip({ memory, views, own: new Uint8Array([1]) });
    expect(arrived.memory).toBe(memory);
    for (const [index, view] of views.entries()) expect(arrived.views[index]).toBe(view);
    expect(carried).not.toContain(arrived.own);
  });

  test('are requested only for functions, iterables and objects of unknown classes', () => {
    const queried: unknown[] = [];
    const codec = new CodecPair({
      ...references,
      numberOf(value) {
        queried.push(value);
        return known.indexOf(value);
      },
    });
    const own = new (class Own {
      value = 1;
    })();
    const iterable = { [Symbol.asyncIterator]: () => known[2], other: 1 };
    const plain = [{}, [], new Map(), new Uint8Array(1), new Error('x'), new Date()];
    expect(codec.roundTrip(plain)).toEqual(plain);
    codec.roundTrip(Object.create(null));
    expect(queried).toEqual([]);
    for (const value of known) expect(codec.roundTrip(value)).toBe(value);
    expect(codec.roundTrip(own)).toEqual({ value: 1 });
    expect(codec.roundTrip(iterable)).toEqual({ other: 1 });
    expect(queried).toEqual([...known, own, iterable]);
  });

  test('that the bridge rejects leave no trace', () => {
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
});
