/**
 * The asynchronous context of a call (`AsyncLocalStorage`): what the caller has passed on runs in it later, although
 * the event loop hears of that in the context of another call, or of none.
 *
 * Invariant: where the runtime has no such contexts, as browsers, the work just runs.
 */

import { platform } from './platform.js';

/** Runs work in the context that was captured. */
export type RunInContext = <Result>(work: () => Result) => Result;

export const runHere: RunInContext = (work) => work();

/** The context in which this is called. */
export function captureContext(): RunInContext {
  return platform.captureContext?.() ?? runHere;
}
