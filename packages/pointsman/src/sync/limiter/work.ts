/** The function that a limiter runs: what it is called with, and how long it may take. */

import { TimeoutError } from '../errors.js';
import { giveUpOn } from '../give-up.js';
import type { WaitOptions } from '../options.js';
import type { Permit } from '../permit.js';

/** The second argument of a function that a limiter runs. */
export interface RunContext {
  /**
   * Aborts when `runTimeout` has elapsed, or when the `signal` among the options aborts. Never aborts if neither is
   * given.
   */
  readonly signal: AbortSignal;
}

export type Work<T> = (permit: Permit, context: RunContext) => T | PromiseLike<T>;

/** How long a function may wait, and run. */
export interface Bounds extends WaitOptions {
  readonly runTimeout?: number | undefined;
}

/** For a function without bounds. Each read makes a signal: listeners of many functions on one would never leave. */
export const unbounded: RunContext = {
  get signal() {
    return new AbortController().signal;
  },
};

/** Calls the function with the signal that its bounds ask for. */
export function callWithin<T>(
  fn: Work<T>,
  permit: Permit,
  { signal, runTimeout = Infinity }: Bounds,
  label: string,
): T | PromiseLike<T> {
  if (runTimeout < Infinity) return callFor(runTimeout, fn, permit, signal, label);
  // The signal of a case of `select` only ends waits, and this wait is over.
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
      // First, so that an error that the abort causes does not count.
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
