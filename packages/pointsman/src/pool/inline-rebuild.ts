/**
 * A function that is written in place and run in a thread, as both sides know it: its source, and the
 * values of the names that it captures. What makes one and checks it is in `inline.ts`, so that only who
 * uses it needs the parser.
 *
 * Invariant: the source is an expression that uses nothing but the names, the globals and itself.
 */

/** Names a property that exists for the compiler only. */
declare const signature: unique symbol;

/** A function for a thread. Made by {@link inline}; made once, it can be run any number of times. */
export class Inline<Fn extends (...args: never[]) => unknown> {
  declare readonly [signature]: Fn;

  /** @internal Made by {@link inline} alone. */
  constructor(
    /** A thread to which it was sent knows it by this number. */
    readonly id: number,
    readonly source: string,
    readonly names: readonly string[],
    readonly values: readonly unknown[],
  ) {}
}

/**
 * The function, in this thread. It is strict code, as all of a module is. What it imports dynamically is
 * looked up from here.
 */
export function rebuild(
  source: string,
  names: readonly string[],
  values: readonly unknown[],
): (...args: unknown[]) => unknown {
  return new Function(...names, `'use strict'; return (${source})`)(...values);
}
