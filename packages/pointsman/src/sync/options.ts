/**
 * The contract that the options of all entries keep: what a wait may be told, and one check for each kind of
 * option.
 *
 * Invariant: whatever is refused is refused at once, before any effect, with an error that names it.
 */

import { describe, invalid, tagOf } from './errors.js';
import type { OwnSignal } from './wait/give-up.js';

/** What every operation that waits may be told. */
export interface WaitOptions {
  /**
   * Gives the wait up when it aborts: the operation rejects with the signal's reason. A signal that
   * has aborted already refuses the operation at once, also where it would not have to wait. It has
   * no effect on what has been granted.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Gives the wait up after this many milliseconds, any number from 0 on: the operation rejects with a
   * {@link TimeoutError}. 0 means: only if it can be granted at once. `Infinity`, the default, means as
   * long as it takes.
   */
  readonly timeout?: number | undefined;
}

/** @internal A signal of this package, and what passes one on. */
export interface Own {
  readonly _own: OwnSignal;
}

/** Throws unless it is an object whose options all have one of these names. */
export function checkOptions(
  options: unknown,
  names: ReadonlySet<string>,
  argument = 'options',
): asserts options is object {
  if (typeof options !== 'object' || options === null || !isRecord(options)) {
    throw invalid(argument, options, 'an object');
  }
  for (const name of Object.keys(options)) {
    if (names.has(name)) continue;
    const unknown = `${argument} has ${describe(name)}, expected only `;
    throw new TypeError(unknown + [...names].join(', '));
  }
}

/** What is neither an array nor a Map, a Date, a signal or any other object of a platform. */
const isRecord = (value: object): boolean =>
  // The first question answers nearly always, in a tenth of the time of the second.
  Object.getPrototypeOf(value) === Object.prototype || tagOf(value) === 'Object';

/** Throws unless it can be waited for that long. */
export function checkTimeout(timeout: unknown, name = 'timeout'): void {
  if (timeout === undefined || (typeof timeout === 'number' && timeout >= 0)) return;
  throw invalid(name, timeout, 'a number of milliseconds from 0 on', 'number');
}

/** Whether it is an AbortSignal, of whatever realm or library. */
export function isSignal(value: unknown): value is AbortSignal {
  const { aborted, addEventListener, removeEventListener } = Object(value) as AbortSignal;
  return (
    typeof aborted === 'boolean' &&
    typeof addEventListener === 'function' &&
    typeof removeEventListener === 'function'
  );
}

/** Throws unless it is an AbortSignal. */
export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !isSignal(signal)) throw invalid('signal', signal, 'an AbortSignal');
}

/** The names of the options of every wait. */
export const waitNames: ReadonlySet<string> = new Set(['signal', 'timeout']);

/** Throws unless they are options of a wait, and of whatever else has one of these names. */
export function checkWaitOptions(options: WaitOptions, names = waitNames): void {
  checkOptions(options, names);
  checkTimeout(options.timeout);
  checkSignal(options.signal);
}
