/**
 * Functions written in place: checked at once, where the mistake is, not in a thread later on.
 *
 * The entry `pointsman/pool/inline`. It needs `acorn`, which the user installs. Nothing else loads it.
 *
 * @module pointsman/pool/inline
 */

import { invalid } from '../sync/errors.js';
import { check } from './inline-check.js';
import { Inline } from './inline-rebuild.js';

export type { Inline };

let ids = 0;

/**
 * Makes a function that a pool can run out of one that is written in place. It goes to the thread as its
 * source, so it can use its parameters, what it declares itself, globals, and those names of its
 * surroundings that are in `captures`. Everything else is a `TypeError` at once, which names the variable
 * and the line.
 *
 * The values of the captures are cloned, like arguments; so they cannot be functions, and what the
 * function does to them stays in the thread.
 *
 * Names are compared as they are when this runs. A bundler that renames variables renames them in the
 * function but not among the captures, and the call throws: have it keep names, or pass the values as
 * arguments.
 *
 * A thread gets the source once. So make the function once and run it often, not clear for each task.
 *
 * In the thread the function is strict code and has no `this`. An `import()` in it takes absolute URLs,
 * built-in modules, and packages that can be found from where this one is installed. Globals are those of
 * the thread: one that was defined on this side only passes the check and is missing there.
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
  const source = check(Function.prototype.toString.call(fn), names);
  ids += 1;
  return new Inline(ids, source, names, Object.values(captures));
}
