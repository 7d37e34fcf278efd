/**
 * The arguments of the public API, with values that each refuses.
 *
 * Invariant: the bounds of `permits` and `weight` are those of a primitive with a single permit.
 */
import { expect } from 'vitest';

type Expected = typeof RangeError | typeof TypeError;

/** What an argument refuses: the values, and words of the expectation that the message must name. */
export interface Argument {
  readonly name: string;
  readonly expectation: RegExp;
  readonly outOfRange: readonly number[];
  readonly wrongType: readonly unknown[];
}

export const notNumbers = [null, '1', '', 1n, true, Symbol('1'), {}, [1], () => 1, new Date(1)];
const notNumeric = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const notCounts = [...notNumeric, -1, 0, -0, 0.5, 1.5, Number.MAX_SAFE_INTEGER + 1];

export function integer(name: string, min: number, mayBeInfinite = false): Argument {
  return {
    name,
    expectation: new RegExp(`integer.* ${min}\\b${mayBeInfinite ? '.* Infinity' : ''}`),
    outOfRange: notCounts.filter(
      (value) =>
        !(min === 0 && value === 0) && !(mayBeInfinite && value === Number.POSITIVE_INFINITY),
    ),
    wrongType: notNumbers,
  };
}

/** Options of methods and of constructors. Each may also be undefined. */
const optionArguments: Argument[] = [
  {
    name: 'timeout',
    expectation: /number.* 0\b/,
    outOfRange: [Number.NaN, Number.NEGATIVE_INFINITY, -1, -0.5],
    wrongType: notNumbers,
  },
  {
    name: 'signal',
    expectation: /AbortSignal/,
    outOfRange: [],
    wrongType: [
      ...[null, 'signal', '', 1n, true, false, Symbol('signal'), {}, [], () => {}, 0, 1],
      Number.NaN,
      // What people really pass by mistake.
      new AbortController(),
      new EventTarget(),
      { aborted: false },
      { aborted: false, addEventListener() {} },
      { aborted: false, removeEventListener() {} },
      { aborted: 'no', addEventListener() {} },
    ],
  },
  {
    name: 'permits',
    expectation: /integer.* 1\b.* 1\b/,
    outOfRange: [...notCounts, 2],
    wrongType: notNumbers,
  },
  {
    name: 'priority',
    expectation: /finite number/,
    outOfRange: notNumeric,
    wrongType: notNumbers,
  },
  {
    name: 'weight',
    expectation: /integer.* 1\b.* 1\b/,
    outOfRange: [...notCounts, 2],
    // An object is a weight for each limit by its name.
    wrongType: notNumbers.filter((value) => typeof value !== 'object'),
  },
  {
    name: 'runTimeout',
    expectation: /number.* 0\b/,
    outOfRange: [Number.NaN, Number.NEGATIVE_INFINITY, -1, -0.5],
    wrongType: notNumbers,
  },
  {
    name: 'biased',
    expectation: /boolean/,
    outOfRange: [],
    wrongType: [null, 'true', '', 1n, Symbol('true'), {}, [], () => {}, 0, 1],
  },
  integer('maxWaiting', 0, true),
  {
    name: 'name',
    expectation: /string/,
    outOfRange: [],
    wrongType: [null, 1, 1n, true, Symbol('name'), {}, () => {}],
  },
  {
    name: 'whenFull',
    expectation: /wait, drop-oldest, reject/,
    outOfRange: [],
    wrongType: [null, 'drop', '', 1n, true, Symbol('wait'), {}, [], () => {}, 0],
  },
];
const options: Argument = {
  name: 'options',
  expectation: /object/,
  outOfRange: [],
  wrongType: [
    ...[null, 'options', '', 1n, true, false, Symbol('options'), () => {}, 0, 1, Number.NaN],
    ...[[], [2], new Map(), new Date(), new AbortController().signal],
  ],
};
export const fn: Argument = {
  name: 'fn',
  expectation: /function/,
  outOfRange: [],
  wrongType: [undefined, null, 'fn', 1n, true, Symbol('fn'), {}, [], 0, 1, Promise.resolve()],
};

/** The arguments with these names, and the options themselves. */
export const argumentsOf = (names: readonly string[]): [string, Argument][] =>
  [...optionArguments.filter(({ name }) => names.includes(name)), options].map((argument) => [
    argument.name,
    argument,
  ]);

/** Options with this value for the argument. */
export const optionsWith = ({ name }: Argument, value: unknown): never =>
  (name === 'options' ? value : { [name]: value }) as never;

export function cases({ outOfRange, wrongType }: Argument): [value: unknown, expected: Expected][] {
  return [
    ...outOfRange.map((value): [unknown, Expected] => [value, RangeError]),
    ...wrongType.map((value): [unknown, Expected] => [value, TypeError]),
  ];
}

export function expectRefusal(
  error: unknown,
  argument: Argument,
  value: unknown,
  expected: Expected,
) {
  expect(error).toBeInstanceOf(Error);
  const { name, message } = error as Error;
  const shown = shownAs(value);
  const what = `${argument.name}: ${shown}`;
  expect({ what, name }).toEqual({ what, name: expected.name });
  expect(message, what).toMatch(new RegExp(`\\b${argument.name}\\b`));
  expect(message, what).toMatch(argument.expectation);
  expect(message, what).toContain(shown);
}

function shownAs(value: unknown): string {
  if (Object(value) !== value) return String(value);
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return ['Object', 'Function'].includes(tag) ? tag.toLowerCase() : tag;
}

export function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}
