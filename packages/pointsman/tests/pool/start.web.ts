/** Starts threads in a page. */
import type { Start } from './pools.js';

export async function starter(): Promise<Start> {
  return () => new Worker('/pool.mjs', { type: 'module' });
}

/** Starts a worker whose script does not exist. */
export const startNothing: Start = () => new Worker('/nothing.mjs', { type: 'module' });
