/**
 * Functions written in place. A thread receives the source text and the captured values, and compiles the function.
 *
 * Invariant: the source is an expression that compiles on its own, as strict code, with the captured names in scope.
 */

import { invalid } from '../sync/errors.js';
import type { AnyFunction } from './types.js';

/** Names a property that exists for the compiler only. */
declare const signature: unique symbol;

/** A function that a pool can run. Made by {@link inline}. */
export class Inline<Fn extends (...args: never[]) => unknown> {
  declare readonly [signature]: Fn;

  /** @internal Made by {@link inline} alone. */
  constructor(
    /** Identifies the function in the threads that have received it. */
    readonly id: number,
    readonly source: string,
    readonly names: readonly string[],
    readonly values: readonly unknown[],
  ) {}
}

let ids = 0;

/**
 * Makes a function written in place runnable by a pool: `pool.run(inline((a, b) => a + b), [3, 4])`.
 *
 * The source text of `fn` is sent to the thread. The function sees only its parameters, its `captures` and the globals
 * of the thread. Any other variable is a `ReferenceError` when the function runs. The values of `captures` are cloned,
 * like arguments.
 *
 * The text is sent to each thread once. Call `inline` once for each function, not once for each task.
 *
 * The function is strict code, and has neither the `this` nor, if it is an arrow function, the `arguments` of its
 * surroundings. An `import()` in it takes absolute URLs, built-in modules and installed packages. If a bundler renames
 * variables, pass their values as arguments instead: captures keep their names.
 *
 * Throws a `TypeError` if `fn` is a class, or a native or bound function, or does not compile on its own; and the error
 * of the runtime where a content security policy forbids `new Function`.
 */
export function inline<Args extends unknown[], Result>(
  fn: (...args: Args) => Result,
  captures: Readonly<Record<string, unknown>> = {},
): Inline<(...args: Args) => Result> {
  if (typeof fn !== 'function') throw invalid('fn', fn, 'a function');
  if (typeof captures !== 'object' || captures === null) {
    throw invalid('captures', captures, 'an object');
  }
  const names = Object.keys(captures);
  return new Inline(++ids, sourceOf(fn, names), names, Object.values(captures));
}

/** Returns an expression for the function. */
function sourceOf(fn: AnyFunction, names: readonly string[]): string {
  const text = Function.prototype.toString.call(fn);
  const isClass = Object.getOwnPropertyDescriptor(fn, 'prototype')?.writable === false;
  if (isClass || /\{\s*\[native code\]\s*\}$/.test(text)) {
    throw new TypeError(
      'fn must not be a class, a native or a bound function: wrap it in a function',
    );
  }
  let failure: SyntaxError | undefined;
  // The text of a method is no expression.
  for (const source of [text, `Object.values({ ${text} })[0]`]) {
    try {
      compile(source, names);
      return source;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      failure ??= error;
    }
  }
  throw new TypeError(`fn does not compile on its own, with its captures: ${failure?.message}`, {
    cause: failure,
  });
}

const compile = (source: string, names: readonly string[]) =>
  new Function(...names, `'use strict'; return (${source})`);

type Parts = Pick<Inline<AnyFunction>, 'source' | 'names' | 'values'>;

/** Compiles a function in the thread. */
export const rebuild = ({ source, names, values }: Parts): AnyFunction =>
  compile(source, names)(...values);

/** Returns the error of an inline function, with an explanation if it reports a variable that is not captured. */
export function explain(error: unknown, { source, names }: Parts): unknown {
  if (!(error instanceof ReferenceError)) return error;
  // In V8 and SpiderMonkey, on assignment in SpiderMonkey, and in JavaScriptCore.
  const match = /(\S+) is not defined$|variable:? (\S+)$/.exec(error.message);
  const name = match?.[1] ?? match?.[2];
  // A function that the inline function calls may have thrown it.
  if (name === undefined || !source.includes(name)) return error;
  return new ReferenceError(
    `${name} is not defined: an inline function sees only its parameters, captures and globals; pass it as inline(fn, { ${[...names, name].join(', ')} })`,
    { cause: error },
  );
}
