/**
 * Starts the threads of a pool.
 *
 * Invariant: no module that a thread loads imports this one. A script that refers to itself as a worker is a cycle, on
 * which some bundlers never finish.
 */

import type { ThreadOptions } from '../transport/types.js';
import type { PoolWorker } from './platform.js';

/** The options of a pool that concern the start of a thread. */
export interface StartOptions extends ThreadOptions {
  readonly name: string;
}

type Start = (options: StartOptions) => PoolWorker;

export let startThread: Start = ({ name }) => {
  // Bundlers recognize exactly this expression.
  const worker = new Worker(new URL('./entry.js', import.meta.url), { type: 'module', name });
  return worker as unknown as PoolWorker;
};

export function useStart(other: Start): void {
  startThread = other;
}
