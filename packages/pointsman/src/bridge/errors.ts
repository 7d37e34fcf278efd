/**
 * The errors of the bridge. Each carries the name of the function that was called, so that a message
 * far from the call still says which one it was.
 */

import { ClosedError } from '../sync/errors.js';

/**
 * The bridge is closed, or the thread on the other side is gone: the call has no answer. Its `cause` is the reason
 * that the other side has given, if any.
 */
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

/** The call cannot be made now, or not in this way: not connected yet, or no memory to share. */
export class BridgeStateError extends CallError {
  override readonly name = 'BridgeStateError';
}

/**
 * Nothing was heard from the other thread: it is gone, or something keeps it from its event loop. The
 * call may still be carried out; its answer is dropped.
 */
export class UnresponsiveError extends CallError {
  override readonly name = 'UnresponsiveError';
}

/** Two threads wait for each other; this call would never have had an answer. */
export class DeadlockError extends CallError {
  override readonly name = 'DeadlockError';
}
