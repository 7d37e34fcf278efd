/**
 * The asynchronous context of a call (`AsyncLocalStorage`). Functions that the caller passed on run in it later, although
 * the event loop dispatches them in the context of another call, or of none.
 *
 * Invariant: in a runtime without such contexts, such as a browser, the work runs directly.
 */

import { platform } from './platform.js';

/** Runs work in the captured context. */
export type RunInContext = <Result>(work: () => Result) => Result;

export const runHere: RunInContext = (work) => work();

/** Captures the context of the caller. */
export function captureContext(): RunInContext {
  return platform.captureContext?.() ?? runHere;
}

/** As {@link captureContext}; a context that one piece of work enters with `enterWith` does not affect the next. */
export function captureContextForEach(): RunInContext {
  const run = captureContext();
  return (work) => run(() => captureContext()(work));
}
