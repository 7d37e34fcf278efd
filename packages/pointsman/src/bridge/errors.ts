/**
 * The errors of the bridge. Each carries the name of the function that was called, so that a message
 * far from the call still says which one it was.
 */

class CallError extends Error {
  /** The function that was called. */
  readonly call: string;

  constructor(message: string, call: string, options?: ErrorOptions) {
    super(message, options);
    this.call = call;
  }
}

/** The bridge is closed, or the thread on the other side is gone: the call has no answer. */
export class BridgeClosedError extends CallError {
  override readonly name = 'BridgeClosedError';
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
