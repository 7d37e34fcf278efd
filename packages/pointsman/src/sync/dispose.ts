/**
 * The symbols of `using` and `await using`. Where a runtime has none yet, these are the ones that compilers fall back to.
 */

export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');

export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
