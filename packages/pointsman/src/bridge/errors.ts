/** The errors of the bridge. Each has the name of the called function, because it may surface far from the call. */

import { ClosedError } from '../sync/errors.js';

/** Thrown when the bridge is closed or the other thread has ended. Its `cause` is the other side's reason, if any. */
export class BridgeClosedError extends ClosedError {
  override readonly name = 'BridgeClosedError';
  /** The function that was called. */
  readonly call: string;

  constructor(message: string, call: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.call = call;
  }
}

class CallError extends Error {
  /** The function that was called. */
  readonly call: string;

  constructor(message: string, call: string) {
    super(message);
    this.call = call;
  }
}

/** Thrown for a call that is not possible now or not in this way: not connected yet, or no shared memory. */
export class BridgeStateError extends CallError {
  override readonly name = 'BridgeStateError';
}

/**
 * Thrown when the other thread does not respond: it has ended, or its event loop is blocked. The function may still
 * run; its reply is dropped.
 */
export class UnresponsiveError extends CallError {
  override readonly name = 'UnresponsiveError';
}

/** Thrown when two threads wait for each other, so the call can never complete. */
export class DeadlockError extends CallError {
  override readonly name = 'DeadlockError';
}
