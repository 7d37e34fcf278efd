/** Calls the function that a limiter runs, with a signal, and bounds its time. */

import { TimeoutError } from '../errors.js';
import type { WaitOptions } from '../options.js';
import type { Permit } from '../semaphore/permit.js';
import { giveUpOn } from '../wait/give-up.js';

/** The second argument of a function that a limiter runs. */
export interface RunContext {
  /**
   * Aborts when `runTimeout` elapses, or when the `signal` option aborts. Never aborts if neither is given.
   */
  readonly signal: AbortSignal;
}

export type Work<T> = (permit: Permit, context: RunContext) => T | PromiseLike<T>;

/** The bounds of a function's wait and work. */
export interface Bounds extends WaitOptions {
  readonly runTimeout?: number | undefined;
}

/** For a function without bounds. Each read creates a signal: on a shared one, listeners would accumulate. */
export const unbounded: RunContext = {
  get signal() {
    return new AbortController().signal;
  },
};

/** Calls the function with a signal for its bounds. */
export function callWithin<T>(
  fn: Work<T>,
  permit: Permit,
  { signal, runTimeout = Infinity }: Bounds,
  label: string,
): T | PromiseLike<T> {
  if (runTimeout < Infinity) return callFor(runTimeout, fn, permit, signal, label);
  // The signal of a `select` case ends only waits, and this wait is over.
  return fn(permit, signal === undefined || '_own' in signal ? unbounded : { signal });
}

async function callFor<T>(
  runTimeout: number,
  fn: Work<T>,
  permit: Permit,
  signal: AbortSignal | undefined,
  label: string,
): Promise<T> {
  const controller = new AbortController();
  const abort = (reason: unknown) => controller.abort(reason);
  const stopListening = giveUpOn({ signal }, abort, Error as never);
  let stopTimer = () => {};
  const timedOut = new Promise<never>((_, reject) => {
    const end = (error: unknown) => {
      // Reject first: an error that the abort causes must not win.
      reject(error);
      abort(error);
    };
    const late = (ms: number) =>
      new TimeoutError(`${label}the function ran for more than ${ms} ms`);
    stopTimer = giveUpOn({ timeout: runTimeout }, end, late);
  });
  try {
    return await Promise.race([timedOut, fn(permit, controller)]);
  } finally {
    stopTimer();
    stopListening();
  }
}
