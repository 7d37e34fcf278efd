/** Inline functions: what they see in the thread, and what `inline` refuses. */
import { describe, expect, test } from 'vitest';
import { collect, open, openWarm, range, reasonOf, until } from '../../tests/pool/pools.js';
import { inline } from './index.js';

/** Not a literal: Bun replaces the name of a constant by its value. */
const outsideFactor = Number('3');

describe('an inline function', () => {
  test('has its parameters and captures, in each task and thread', async () => {
    const { pool } = await openWarm({ threads: 2 });
    const prices = new Map([['a', 2]]);
    const cost = inline((n: number) => n * outsideFactor * (prices.get('a') ?? 0), {
      outsideFactor,
      prices,
      unused: 1,
    });
    const results = range(20).map((n) => pool.run(cost, [n]));
    expect(await Promise.all(results)).toEqual(range(20).map((n) => 6 * n));
    expect(await pool.run(cost, [5])).toBe(30);
  });

  test('may be of any kind', async () => {
    const { pool } = await open();
    const add = inline((a: number, b: number = 2) => a + b);
    expect(await pool.run(add, [1])).toBe(3);
    const factorial = inline(function product(n: number): number {
      return n < 2 ? 1 : n * product(n - 1);
    });
    expect(await pool.run(factorial, [5])).toBe(120);
    expect(
      await pool.run(
        inline(async (a: number) => (await a) + 1),
        [1],
      ),
    ).toBe(2);
    const count = inline(function* (to: number) {
      for (let n = 0; n < to; n++) yield n;
    });
    expect(await collect(await pool.run(count, [4]))).toEqual(range(4));
    const stream = inline(async function* (to: number) {
      for (let n = 0; n < to; n++) yield n;
    });
    expect(await collect(await pool.run(stream, [4]))).toEqual(range(4));
  });

  test('may be a method of any kind', async () => {
    const { pool } = await open();
    // A name of its own: a bundler renames names that occur twice, in the function but not among its captures.
    const computedName = String('computed');
    class Holder {
      static make(a: number) {
        return a + 6;
      }
      field = (a: number) => a + 7;
    }
    const holder = {
      plain(a: number) {
        return a + 1;
      },
      async later(a: number) {
        return (await a) + 2;
      },
      *each(a: number) {
        yield a + 3;
      },
      async *stream(a: number) {
        yield (await a) + 4;
      },
      [computedName](a: number) {
        return a + 5;
      },
      async(a: number) {
        return a + 8;
      },
      function(a: number) {
        return a + 9;
      },
      'a (name)'(a: number) {
        return a + 10;
      },
    };
    const { plain, later, each, stream, async, function: named, 'a (name)': quoted } = holder;
    expect(await pool.run(inline(plain), [0])).toBe(1);
    expect(await pool.run(inline(later), [0])).toBe(2);
    expect(await collect(await pool.run(inline(each), [0]))).toEqual([3]);
    expect(await collect(await pool.run(inline(stream), [0]))).toEqual([4]);
    const computed = holder[computedName] as (a: number) => number;
    expect(await pool.run(inline(computed, { computedName }), [0])).toBe(5);
    expect(await pool.run(inline(Holder.make), [0])).toBe(6);
    expect(await pool.run(inline(new Holder().field), [0])).toBe(7);
    expect(await pool.run(inline(async), [0])).toBe(8);
    expect(await pool.run(inline(named), [0])).toBe(9);
    expect(await pool.run(inline(quoted), [0])).toBe(10);
  });

  test('is strict code without `this`', async () => {
    const { pool } = await open();
    const self = inline(function (this: unknown) {
      return this === undefined;
    });
    expect(await pool.run(self)).toBe(true);
  });

  test('runs although its first task never reached a thread', async () => {
    const { pool } = await openWarm();
    const echo = inline((value: unknown) => value);
    await expect(pool.run(echo, [Symbol('s')])).rejects.toMatchObject({ name: 'DataCloneError' });
    expect(await pool.run(echo, [1])).toBe(1);
  });

  test('runs although its first task was withdrawn', async () => {
    const { pool, board } = await openWarm();
    const echo = inline((value: unknown) => value);
    const gate = board.gate();
    const held = pool.run('hold', [gate.number]);
    await until(() => gate.begun === 1);
    const controller = new AbortController();
    const given = pool.run(echo, [1], { signal: controller.signal });
    controller.abort('not now');
    expect(await reasonOf(given)).toBe('not now');
    gate.open();
    await held;
    expect(await pool.run(echo, [2])).toBe(2);
  });
});

describe('a variable that is not captured', () => {
  const holder = {
    [outsideFactor]() {
      return 1;
    },
  };
  const used = 1;
  const assigned = { value: 0 };
  let reassigned = 0;

  test.each([
    ['in a function', inline(() => outsideFactor)],
    ['beside a capture', inline(() => outsideFactor + used, { used })],
    ['after an await', inline(async (n: number) => (await n) * outsideFactor)],
    ['as an object', inline(() => (assigned.value = 1))],
    [
      'on assignment',
      inline(() => {
        reassigned = 1;
      }),
    ],
    ['in the name of a method', inline(holder[outsideFactor] as () => number)],
  ])('%s', async (place, fn) => {
    expect(reassigned).toBe(0);
    const { pool } = await open();
    const name = { 'as an object': 'assigned', 'on assignment': 'reassigned' }[place];
    const missing = name ?? 'outsideFactor';
    const captures = place === 'beside a capture' ? `used, ${missing}` : missing;
    const error = await reasonOf(pool.run(fn as never));
    expect(error).toBeInstanceOf(ReferenceError);
    expect(error).toMatchObject({
      message: `${missing} is not defined: an inline function sees only its parameters, captures and globals; pass it as inline(fn, { ${captures} })`,
      cause: { name: 'ReferenceError', message: expect.stringContaining(missing) },
    });
  });

  test('in a generator', async () => {
    const { pool } = await open();
    const stream = await pool.run(
      inline(function* () {
        yield 1;
        yield outsideFactor;
      }),
    );
    expect(await stream.next()).toMatchObject({ value: 1 });
    expect(String(await reasonOf(stream.next()))).toMatch(
      /^ReferenceError: outsideFactor is not defined: an inline function sees/,
    );
  });
});

test('other errors are left as they are', async () => {
  const { pool } = await open();
  const early = inline(() => {
    const read = () => late;
    read();
    const late = 1;
  });
  const messageOf = async (fn: Promise<unknown>) => String(await reasonOf(fn));
  expect(await messageOf(pool.run(early))).not.toContain('inline');
  const call = inline((ask: () => unknown) => ask());
  const ask = () => {
    throw new ReferenceError('elsewhere is not defined');
  };
  expect(await messageOf(pool.run(call, [ask]))).toBe('ReferenceError: elsewhere is not defined');
});

class Private {
  #value = 1;
  read(other: Private) {
    return this.#value + other.#value;
  }
}

test.each<[string, () => unknown, string]>([
  ['no function', () => inline('() => 1' as never), 'fn must be a function, got "() => 1"'],
  [
    'a native function',
    () => inline(Math.max),
    'fn must not be a class, a native or a bound function',
  ],
  [
    'a bound function',
    () => inline(((n: number) => n).bind(null)),
    'fn must not be a class, a native or a bound function',
  ],
  [
    'a class',
    () => inline(class {} as never),
    'fn must not be a class, a native or a bound function',
  ],
  ['no captures', () => inline(() => 1, 5 as never), 'captures must be an object, got 5'],
  ['null', () => inline(() => 1, null as never), 'captures must be an object, got null'],
  [
    'a capture that is not the name of a variable',
    () => inline(() => 1, { 'a-b': 1 }),
    'fn does not compile on its own, with its captures: ',
  ],
  [
    'a function that uses a private name',
    () => inline(Private.prototype.read),
    'fn does not compile on its own, with its captures: ',
  ],
])('inline refuses %s', (_what, make, message) => {
  expect(make).toThrow(TypeError);
  expect(make).toThrow(message);
});

test('an inline function has the types of its function', async () => {
  const { pool } = await open();
  const repeat = inline((text: string, times: number) => text.repeat(times));
  // @ts-expect-error the first argument is a string
  void pool.run(repeat, [1, 2]).catch(() => {});
  const repeated: string = await pool.run(repeat, ['a', 2]);
  expect(repeated).toBe('aa');
});
