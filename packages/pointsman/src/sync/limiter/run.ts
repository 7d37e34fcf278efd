/** Calls the function of a run, passes it a signal, and bounds its time. */

import { TimeoutError } from '../errors.js';
import type { WaitOptions } from '../options.js';
import type { Permit } from '../semaphore/permit.js';
import { giveUpOn, type Own } from '../wait/give-up.js';

/** The second argument of a function that a limiter runs. */
export interface RunContext {
  /**
   * Aborts when `runTimeout` elapses, or when the `signal` option aborts. Never aborts if neither is given.
   */
  readonly signal: AbortSignal;
}

export type Work<T> = (permit: Permit, context: RunContext) => T | PromiseLike<T>;

/** A permit, as far as a run is concerned. */
interface Released {
  _giveBack(): void;
  _started?(): void;
}

interface Bounds extends WaitOptions {
  readonly runTimeout?: number | undefined;
}

/** For a function without bounds. Each read creates a signal: on a shared one, listeners would accumulate. */
const unbounded: RunContext = {
  get signal() {
    return new AbortController().signal;
  },
};

/**
 * Calls the function, and releases the permit when its result has settled, before the caller of `run` continues. Not an
 * async function, which would be slower where the result is no promise.
 */
export function runWith<T>(
  permit: Released,
  fn: Work<T>,
  bounds: Bounds | undefined,
  label: string,
  stats: { failed: number },
): Promise<T> {
  let result: T | PromiseLike<T>;
  try {
    const given = permit as Permit & Released;
    result = bounds === undefined ? fn(given, unbounded) : callWithin(fn, given, bounds, label);
  } catch (error) {
    result = Promise.reject(error);
  }
  permit._started?.();
  return Promise.resolve(result).then(
    (value) => {
      permit._giveBack();
      return value;
    },
    (error) => {
      stats.failed++;
      permit._giveBack();
      throw error;
    },
  );
}

function callWithin<T>(
  fn: Work<T>,
  permit: Permit,
  { signal, runTimeout = Infinity }: Bounds,
  label: string,
): T | PromiseLike<T> {
  if (runTimeout < Infinity) return callFor(runTimeout, fn, permit, signal, label);
  // The signal of a `select` case ends only waits, and this wait is over.
  return fn(permit, signal === undefined || (signal as Partial<Own>)._own ? unbounded : { signal });
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
