/**
 * The errors of locks on Redis. `TimeoutError`, `ClosedError` and `ReentrancyError` are those of
 * `pointsman`.
 */

/**
 * A lock is lost, or may be: its lease ran out before it could be renewed, or the server has lost it or
 * given it to somebody else. What it protected may be in other hands.
 */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';
}

/**
 * The server cannot do what the lock needs: it refuses to write, it is too old, or it could not be
 * reached for as long as a lease lasts. Nothing is held. `cause` is the error of the client library.
 */
export class RedisLockError extends Error {
  override readonly name = 'RedisLockError';
}

/** What messages of a mutex begin with: its name, if it was given one. */
export const labelOf = (name: string | undefined): string =>
  name === undefined ? '' : `${name}: `;

/** What it comes to for a lock that the server, or the client library, has failed. */
export function refusalOf(error: unknown, label: string): RedisLockError {
  if (error instanceof RedisLockError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new RedisLockError(`${label}the server cannot be used: ${message}`, { cause: error });
}
