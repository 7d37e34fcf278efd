/** Starts threads in Node, and in what behaves like it: the host needs the parts that are for Node. */
import '../../src/transport/platform.node.js';
import '../../src/pool/platform.node.js';
import { Worker } from 'node:worker_threads';
import type { Start } from './pools.js';
import { script } from './script.node.js';

export async function starter(): Promise<Start> {
  const path = await script();
  return (resourceLimits) => new Worker(path, { ...(resourceLimits && { resourceLimits }) });
}

/** One whose script is not there. */
export const startNothing: Start = () => new Worker('/there/is/no/such/file.mjs');
