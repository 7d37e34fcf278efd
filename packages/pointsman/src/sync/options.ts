/**
 * Options that waits have in common, and one check for each kind of option.
 *
 * Invariant: an invalid option is refused before any effect, with an error that names it.
 */

import { describe, invalid, tagOf } from './errors.js';

/** Options common to all operations that wait. */
export interface WaitOptions {
  /**
   * Ends the wait when it aborts: the operation rejects with the signal's reason, also at once if it has aborted already.
   * It has no effect on what was granted.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Ends the wait after this many milliseconds, any number >= 0: the operation rejects with a {@link TimeoutError}. 0
   * succeeds only without waiting. Default `Infinity`.
   */
  readonly timeout?: number | undefined;
}

/** Throws unless `options` is a plain object (not an array, `Map` or signal) that has only these names. */
export function checkOptions(
  options: unknown,
  names: readonly string[],
  argument = 'options',
): asserts options is object {
  // The prototype nearly always decides, in a tenth of the time that the tag takes.
  const prototype = options && Object.getPrototypeOf(options);
  if (prototype !== Object.prototype && tagOf(options) !== 'Object') {
    throw invalid(argument, options, 'an object');
  }
  for (const name of Object.keys(options as object)) {
    if (names.includes(name)) continue;
    throw new TypeError(`${argument} has ${describe(name)}, expected only ${names.join(', ')}`);
  }
}

/** Throws unless `timeout` is undefined or a number >= 0. */
export function checkTimeout(timeout: unknown, name = 'timeout'): void {
  if (timeout === undefined || (typeof timeout === 'number' && timeout >= 0)) return;
  throw invalid(name, timeout, 'a number of milliseconds >= 0', 'number');
}

/** Whether the value is an `AbortSignal`, of any realm or library. */
export function isSignal(value: unknown): value is AbortSignal {
  const { aborted, addEventListener, removeEventListener } = Object(value) as AbortSignal;
  return (
    typeof aborted === 'boolean' &&
    typeof addEventListener === 'function' &&
    typeof removeEventListener === 'function'
  );
}

export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !isSignal(signal)) throw invalid('signal', signal, 'an AbortSignal');
}

/** The names of {@link WaitOptions}. */
export const waitNames: readonly string[] = ['signal', 'timeout'];

/** Throws unless the options have only these names, with a valid `signal` and `timeout`. */
export function checkWaitOptions(options: WaitOptions, names = waitNames): void {
  checkOptions(options, names);
  checkTimeout(options.timeout);
  checkSignal(options.signal);
}
