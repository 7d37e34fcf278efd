/** The errors of `pointsman/shared` beside those that it shares with `pointsman`. */

/**
 * A lock is lost or in doubt: its lease ended before it could be renewed, it was held for longer than `maxHold`, or the
 * server has lost it or granted it to another process. Another holder may be using the protected resource.
 */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';
}

/**
 * The store cannot be used: its server refuses writes, is too old, or could not be reached for as long as a lease.
 * Nothing is held. `cause` is the error of the server or of the client library.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** The prefix of error messages: the name of the process, if it was given one. */
export const labelOf = (name: string | undefined): string =>
  name === undefined ? '' : `${name}: `;

/** The error with which a request is refused after an error of the server or of the client library. */
export function refusalOf(error: unknown, label: string): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StoreError(`${label}the server cannot be used: ${message}`, { cause: error });
}
