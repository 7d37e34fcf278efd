/** Errors on their way to whoever waits for an answer. */

import { TimeoutError } from '../../task/errors.js';

export function timedOut(name: string, timeout: number): TimeoutError {
  const error = new TimeoutError(`${name}() had no answer within ${timeout} ms`);
  return Object.assign(error, { call: name });
}

/** What is left of an error whose properties cannot be passed on. */
export function bare(error: unknown): Error {
  if (!(error instanceof Error))
    return new Error(`something that cannot be passed on: ${typeof error}`);
  const { name, message, stack } = error;
  return Object.assign(new Error(message), { name, stack });
}

/** Adds where the call was made to an error's stack, which tells where it was thrown. */
export function withCaller(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const here = new Error().stack?.split('\n').slice(3).join('\n');
  if (here) error.stack = `${error.stack}\n    -- called by --\n${here}`;
  return error;
}
