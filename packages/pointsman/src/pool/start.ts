/**
 * How a thread is started that waits for its setup.
 *
 * Invariant: nothing that a thread of a pool loads imports this. A script that names itself as a worker is a circle,
 * and a bundler that builds a script before it can name it never comes to its end.
 */

import type { PoolWorker } from './platform.js';

/** Of a pool's options, those that a thread is started with. */
export interface StartOptions {
  readonly name: string;
  readonly resourceLimits?: object | undefined;
  readonly env?: object | symbol | undefined;
  readonly argv?: readonly unknown[] | undefined;
  readonly execArgv?: readonly string[] | undefined;
  readonly workerData?: unknown;
}

type Start = (options: StartOptions) => PoolWorker;

export let startThread: Start = ({ name }) => {
  // Bundlers look for exactly this expression.
  const worker = new Worker(new URL('./entry.js', import.meta.url), { type: 'module', name });
  return worker as unknown as PoolWorker;
};

export function useStart(other: Start): void {
  startThread = other;
}
