/** Bad input of constructors: the error says which argument, what it was and what was expected. */
import { describe, expect, test } from 'vitest';
import { KeyedSemaphore, Semaphore } from '../index.js';
import {
  argumentsOf,
  cases,
  expectRefusal,
  integer,
  notNumbers,
  optionsWith,
  thrownBy,
} from './arguments.js';
import { primitives } from './primitives.js';

const constructors = Object.entries(primitives);

describe.each(constructors.filter(([, { options }]) => options))(
  'the options of a new %s',
  (_, { create, options: names = [] }) => {
    test.each(argumentsOf(names))('refuse bad %s', (_, argument) => {
      for (const [value, expected] of cases(argument)) {
        const error = thrownBy(() => create(optionsWith(argument, value)));
        expectRefusal(error, argument, value, expected);
      }
    });

    test('refuse what they are not', () => {
      for (const name of ['limit', 'maxwaiting']) {
        const refusal = `options has "${name}", expected only ${names.join(', ')}`;
        expect(() => create({ [name]: 1 } as never)).toThrow(refusal);
      }
    });

    test('may be left out', () => {
      const nothing = Object.fromEntries(names.map((name) => [name, undefined]));
      for (const given of [undefined, {}, nothing] as never[]) create(given);
    });
  },
);

describe.each(
  constructors.flatMap(([form, { number }]) => (number ? [[form, number] as const] : [])),
)('the number of a new %s', (form, { name, min, mayBeInfinite, create }) => {
  const argument = integer(name, min, mayBeInfinite);
  const values = cases({ ...argument, wrongType: [undefined, ...argument.wrongType] });

  test('is refused if it is a bad one', () => {
    for (const [value, expected] of values) {
      const error = thrownBy(() => create(value as never));
      expectRefusal(error, argument, value, expected);
    }
  });

  test('is refused if options are in its place', () => {
    expect(() => create({ [name]: 2 } as never)).toThrow(
      new TypeError(`${name} must be a number, got object. Did you mean new ${form}(2)?`),
    );
    for (const value of [{}, null, undefined, { other: 2 }, { [name]: '2' }]) {
      expect(() => create(value as never)).toThrow(new RegExp(`^${name} must be an integer >= `));
    }
  });
});

describe('limit', () => {
  test('a bad one is not set, and the old one stays', async () => {
    const semaphore = new Semaphore(2);
    const held = await semaphore.acquire();
    const waiter = semaphore.acquire({ permits: 2 });
    const limit = integer('limit', 0, true);
    for (const [value, expected] of cases({ ...limit, wrongType: [undefined, ...notNumbers] })) {
      const set = () => {
        semaphore.limit = value as never;
      };
      expectRefusal(thrownBy(set), limit, value, expected);
      const { limit: kept, available, waiting } = semaphore;
      expect({ kept, available, waiting }).toEqual({ kept: 2, available: 1, waiting: 1 });
    }
    held.release();
    expect((await waiter).permits).toBe(2);
  });

  test.each([1, 2, 2 ** 32, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])(
    '%d is a good one',
    (limit) => {
      const semaphore = new Semaphore(limit);
      expect(semaphore.available).toBe(limit);
      semaphore.tryAcquire({ permits: Math.min(limit, Number.MAX_SAFE_INTEGER) })?.release();
      expect(semaphore.available).toBe(limit);
      expect(new KeyedSemaphore(limit).availableFor('key')).toBe(limit);
    },
  );
});
