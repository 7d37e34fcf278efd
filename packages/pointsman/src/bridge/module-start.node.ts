/** Starts a worker that serves the exports of a module, in Node, Bun and Deno. */

import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { workerOptions } from '../transport/worker-options.node.js';
import { useStartModule } from './connect-sync.js';

useStartModule((module, options) => ({
  worker: new Worker(new URL('./module-entry.node.js', import.meta.url), workerOptions(options)),
  module: isAbsolute(module) ? pathToFileURL(module).href : module,
}));
