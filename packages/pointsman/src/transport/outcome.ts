/** Errors of calls: a plain form of those that cannot be cloned, and stacks that include the caller. */

import { describe, TimeoutError } from '../sync/errors.js';

export function timedOut(name: string, timeout: number): TimeoutError {
  const error = new TimeoutError(`${name}() had no answer within ${timeout} ms`);
  return Object.assign(error, { call: name });
}

/** Maximum number of characters kept of each text of an error that cannot be cloned. */
const MAX_TEXT = 10_000;

/** Returns an error with the name, message and stack of one that cannot be cloned. Never throws. */
export function toPlainError(error: unknown): Error {
  try {
    if (!(error instanceof Error))
      return new Error(`a thrown value that cannot be cloned: ${describe(error)}`);
    const [name, message, stack] = [error.name, error.message, error.stack].map((text) =>
      String(text).slice(0, MAX_TEXT),
    );
    return Object.assign(new Error(message), { name, stack });
  } catch {
    return new Error('an error that cannot be cloned');
  }
}

/** Returns the stack of the caller's caller, without its first `frames` lines. Only in V8 a stack starts with the name. */
function callersBelow(frames: number): string[] {
  const lines = new Error().stack?.trimEnd().split('\n') ?? [];
  return lines.slice((lines[0] === 'Error' ? 2 : 1) + frames);
}

function withCallers(error: Error, callers: readonly string[]): void {
  if (callers.length === 0) return;
  error.stack = `${error.stack}\n    -- called by --\n${callers.join('\n')}`;
}

/** Appends the stack of the call to the error's stack, which only shows where the other thread threw it. */
export function withCaller(error: unknown): unknown {
  if (error instanceof Error) withCallers(error, callersBelow(2));
  return error;
}

/**
 * Returns a promise that rejects with the error, after appending the async stack of the code that awaits the promise.
 * The stack is taken here, from engines that have async stacks, so that calls that succeed need not record one.
 */
export async function rejectWithCaller(error: unknown): Promise<never> {
  if (error instanceof Error) {
    // The engine knows the awaiting function only after these microtasks.
    await undefined;
    await undefined;
    withCallers(error, callersBelow(1));
  }
  throw error;
}

/** Returns whether the value is a promise or another thenable. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}
