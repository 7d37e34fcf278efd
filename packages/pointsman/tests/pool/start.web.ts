/** Starts threads in a page. */
import type { Start } from './pools.js';

export async function starter(): Promise<Start> {
  return () => new Worker('/pool.mjs', { type: 'module' });
}

/** One whose script is not there. */
export const startNothing: Start = () => new Worker('/nothing.mjs', { type: 'module' });
