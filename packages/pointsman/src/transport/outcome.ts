/** Errors on their way to whoever waits for an answer. */

import { describe, TimeoutError } from '../sync/errors.js';

export function timedOut(name: string, timeout: number): TimeoutError {
  const error = new TimeoutError(`${name}() had no answer within ${timeout} ms`);
  return Object.assign(error, { call: name });
}

/** Characters of a text that are kept of an error which cannot be passed on as it is. */
const most = 10_000;

/** What is left of an error that cannot be passed on as it is. Never throws. */
export function toPlainError(error: unknown): Error {
  try {
    if (!(error instanceof Error))
      return new Error(`something that cannot be passed on: ${describe(error)}`);
    const [name, message, stack] = [error.name, error.message, error.stack].map((text) =>
      String(text).slice(0, most),
    );
    return Object.assign(new Error(message), { name, stack });
  } catch {
    return new Error('an error that cannot be passed on');
  }
}

/** Who calls whoever calls this, below so many frames. Only in V8 a stack begins with the error's name. */
function callersBelow(frames: number): string[] {
  const lines = new Error().stack?.trimEnd().split('\n') ?? [];
  return lines.slice((lines[0] === 'Error' ? 2 : 1) + frames);
}

function withCallers(error: Error, callers: readonly string[]): void {
  if (callers.length === 0) return;
  error.stack = `${error.stack}\n    -- called by --\n${callers.join('\n')}`;
}

/** Adds where the call was made to an error's stack, which tells where it was thrown. */
export function withCaller(error: unknown): unknown {
  if (error instanceof Error) withCallers(error, callersBelow(2));
  return error;
}

/**
 * A promise that rejects with the error, whose stack tells where it was thrown, and also who awaits this
 * promise, where the engine knows: so nothing has to be remembered of calls that succeed.
 */
export async function rejectWithCaller(error: unknown): Promise<never> {
  if (error instanceof Error) {
    // Whoever adopts this promise does so in a turn of the microtasks, and is known only then.
    await undefined;
    await undefined;
    withCallers(error, callersBelow(1));
  }
  throw error;
}

/** Whether it is a promise, or behaves like one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}
