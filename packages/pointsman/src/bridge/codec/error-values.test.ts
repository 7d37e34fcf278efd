/** Errors over the codec. */
import { describe, expect, test } from 'vitest';
import { CodecPair } from './model/codec-pair.js';

describe('errors', () => {
  const codec = new CodecPair();

  test('keep message, stack, cause and own properties', () => {
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
    const arrived = codec.roundTrip(error);
    expect(arrived).toBeInstanceOf(RangeError);
    expect([arrived.name, arrived.message, arrived.code]).toEqual(['OwnError', 'what', 'E_OWN']);
    expect(arrived.stack).toBe(error.stack);
    expect(arrived.cause).toBeInstanceOf(TypeError);
    expect((arrived.cause as Error).message).toBe('why');
    expect(Object.keys(arrived)).toEqual(Object.keys(error));
    expect('hidden' in arrived).toBe(false);
  });

  test('of each built-in class', () => {
    for (const Class of [
      Error,
      EvalError,
      RangeError,
      ReferenceError,
      SyntaxError,
      TypeError,
      URIError,
    ]) {
      const arrived = codec.roundTrip(new Class('m'));
      expect(Object.getPrototypeOf(arrived)).toBe(Class.prototype);
      expect(Object.keys(arrived)).toEqual([]);
      expect(`${arrived}`).toBe(`${Class.name}: m`);
      expect(Object.hasOwn(codec.roundTrip(new Class()), 'message')).toBe(false);
    }
  });

  test('that contain others and themselves', () => {
    const error = new AggregateError([new Error('a'), 'b'], 'all');
    error.cause = error;
    const arrived = codec.roundTrip(error);
    expect(arrived).toBeInstanceOf(AggregateError);
    expect(arrived.errors.map(String)).toEqual(['Error: a', 'b']);
    expect(arrived.cause).toBe(arrived);
  });

  test('DOMException', () => {
    const arrived = codec.roundTrip(new DOMException('enough', 'AbortError'));
    expect(arrived).toBeInstanceOf(DOMException);
    expect([arrived.name, arrived.message, arrived.code]).toEqual(['AbortError', 'enough', 20]);
  });

  test('that inherit their name', () => {
    class Named extends Error {}
    Named.prototype.name = 'Named';
    const arrived = codec.roundTrip(new Named('x'));
    expect(String(arrived)).toBe('Named: x');
    expect(Object.keys(arrived)).toEqual([]);
  });
});
