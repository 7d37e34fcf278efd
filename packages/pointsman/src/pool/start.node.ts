/** Starts threads in Node, Bun and Deno. */

import { Worker } from 'node:worker_threads';
import { workerOptions } from '../transport/worker-options.node.js';
import type { PoolWorker } from './platform.js';
import { useStart } from './start.js';

useStart(({ name, ...given }) => {
  const options = { name, ...workerOptions(given) };
  const worker = new Worker(new URL('./entry.node.js', import.meta.url), options);
  return worker as unknown as PoolWorker;
});
