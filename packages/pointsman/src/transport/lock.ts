/**
 * How a host learns in a browser that a worker has ended, which no event tells: the worker holds a lock
 * as long as it lives, and who asks for it has it when the worker is gone.
 *
 * Invariant: the host asks for the lock only after the worker has said that it holds it. So whoever gets it knows
 * that the worker is gone, and not that it has yet to begin.
 */

function lockOf(id: number): string {
  return `pointsman.worker.${id}`;
}

/** The worker's part, until `over` settles. Calls `held` when it has the lock; resolves then, or when it cannot have it. */
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

/** The host's part: calls `ended` when the worker is gone, unless `signal` aborts before. */
export function watchLock(id: number, signal: AbortSignal, ended: () => void): void {
  globalThis.navigator.locks.request(lockOf(id), { signal }, ended).catch(() => {});
}
