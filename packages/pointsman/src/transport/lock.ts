/**
 * How a host learns in a browser that a worker has ended, which no event tells: the worker holds a lock
 * as long as it lives, and who asks for it has it when the worker is gone.
 *
 * Invariant: the host asks for the lock only after the worker has said that it holds it. So whoever gets it knows
 * that the worker is gone, and not that it has yet to begin.
 */

import { soon } from './event-loop.js';

function lockOf(id: number): string {
  return `pointsman.worker.${id}`;
}

/** The worker's part, until `closed` settles. Calls `held` when it has the lock; resolves then, or when it cannot have it. */
export function holdLock(id: number, closed: Promise<unknown>, held: () => void): Promise<void> {
  return new Promise((resolve) => {
    const locks = globalThis.navigator?.locks;
    if (locks === undefined) resolve();
    locks
      ?.request(lockOf(id), () => {
        held();
        resolve();
        // A turn later: the message that the bridge is closed comes first.
        return closed.then(() => new Promise<void>(soon));
      })
      .catch(() => resolve());
  });
}

/** The host's part: calls `ended` when the worker is gone, unless `signal` aborts before. */
export function watchLock(id: number, signal: AbortSignal, ended: () => void): void {
  globalThis.navigator.locks.request(lockOf(id), { signal }, ended).catch(() => {});
}
