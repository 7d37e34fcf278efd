/** The errors of `pointsman/redis` beside those that it shares with `pointsman`. */

/**
 * A lock is lost or in doubt: its lease ended before it could be renewed, it was held for longer than `maxHold`, or the
 * server has lost it or granted it to another process. Another holder may be using the protected resource.
 */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';
}

/**
 * The server cannot be used: it refuses writes, it is too old, or it could not be reached for as long as a lease.
 * Nothing is held. `cause` is the error of the client library.
 */
export class RedisLockError extends Error {
  override readonly name = 'RedisLockError';
}

/** The prefix of a mutex's error messages: its name, if it has one. */
export const labelOf = (name: string | undefined): string =>
  name === undefined ? '' : `${name}: `;

/** The error with which a request is refused after an error of the server or of the client library. */
export function refusalOf(error: unknown, label: string): RedisLockError {
  if (error instanceof RedisLockError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new RedisLockError(`${label}the server cannot be used: ${message}`, { cause: error });
}
