/**
 * Reports that a worker was terminated, for platforms without such an event. In Deno a blocked Web Worker keeps running,
 * with its ports and locks, until it returns to its event loop. The host is the thread that calls `terminate`.
 *
 * Invariant: `terminate` of a worker is wrapped once, however many bridges it has, and keeps its effect.
 */

import { type Port, platform } from '../transport/platform.js';

const listeners = new WeakMap<Port, Set<() => void>>();

/** Calls `terminated` when the worker is terminated. Returns a function that removes the listener. */
export function watchTerminate(worker: Port, terminated: () => void): () => void {
  const { terminate } = worker;
  // A Node worker has an event for this, and a browser worker has its lock.
  if (terminate === undefined || worker.on || !platform.receive) return () => {};
  let all = listeners.get(worker);
  if (all === undefined) {
    const callbacks = new Set<() => void>();
    all = callbacks;
    listeners.set(worker, callbacks);
    worker.terminate = () => {
      terminate.call(worker);
      for (const listener of [...callbacks]) listener();
    };
  }
  const mine = all;
  mine.add(terminated);
  return () => mine.delete(terminated);
}
