/**
 * How a host learns that its worker was terminated where no event tells: in Deno a Web Worker that is blocked runs
 * on, with its ports and its locks, until it returns to its event loop. The host is where `terminate` is called.
 *
 * Invariant: `terminate` of a worker is replaced once, however many bridges it has, and does what it did.
 */

import { type Port, platform } from '../transport/platform.js';

const listeners = new WeakMap<Port, Set<() => void>>();

/** Calls `terminated` when the worker is terminated; returns how to stop. */
export function watchTerminate(worker: Port, terminated: () => void): () => void {
  const { terminate } = worker;
  // A worker of Node has an event for it, and one of a browser its lock.
  if (terminate === undefined || worker.on || !platform.receive) return () => {};
  let all = listeners.get(worker);
  if (all === undefined) {
    const told = new Set<() => void>();
    all = told;
    listeners.set(worker, told);
    worker.terminate = () => {
      terminate.call(worker);
      for (const listener of [...told]) listener();
    };
  }
  const mine = all;
  mine.add(terminated);
  return () => mine.delete(terminated);
}
