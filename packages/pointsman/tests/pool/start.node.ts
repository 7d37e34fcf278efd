/** Starts threads in Node and compatible runtimes. The host needs the Node platform. */
import '../../src/transport/platform.node.js';
import '../../src/pool/platform.node.js';
import { Worker } from 'node:worker_threads';
import type { Start } from './pools.js';
import { script } from './script.node.js';

export async function starter(): Promise<Start> {
  const path = await script();
  return (resourceLimits) => new Worker(path, { ...(resourceLimits && { resourceLimits }) });
}

/** Starts a worker whose script does not exist. */
export const startNothing: Start = () => new Worker('/there/is/no/such/file.mjs');
