/**
 * Detects in a browser that a worker has ended, for which there is no event: the worker holds a Web Lock for its
 * lifetime, and the host's request for the lock is granted when the worker has ended.
 *
 * Invariant: the host requests the lock only after the worker has reported that it holds it. So a grant means that
 * the worker has ended, never that it has not started.
 */

function lockOf(id: number): string {
  return `pointsman.worker.${id}`;
}

/**
 * Called by the worker: holds the lock until `over` settles. Calls `held` when the lock is granted; resolves then, or
 * when the lock is not available.
 */
export function holdLock(id: number, over: Promise<unknown>, held: () => void): Promise<void> {
  return new Promise((resolve) => {
    const locks = globalThis.navigator?.locks;
    if (locks === undefined) resolve();
    locks
      ?.request(lockOf(id), () => {
        held();
        resolve();
        return over;
      })
      .catch(() => resolve());
  });
}

/** Called by the host: calls `ended` when the worker has ended, unless `signal` aborts first. */
export function watchLock(id: number, signal: AbortSignal, ended: () => void): void {
  globalThis.navigator.locks.request(lockOf(id), { signal }, ended).catch(() => {});
}
