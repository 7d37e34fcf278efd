/** Starts threads in Node, Bun and Deno. */

import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { PoolWorker } from './platform.js';
import { useStart } from './start.js';

useStart(({ name, resourceLimits, env, argv, execArgv, workerData }) => {
  const options: WorkerOptions = { name };
  if (resourceLimits !== undefined) options.resourceLimits = resourceLimits;
  if (env !== undefined) options.env = env as NonNullable<WorkerOptions['env']>;
  if (argv !== undefined) options.argv = [...argv];
  // `--input-type` describes the text of `node --eval`; a worker that is started from a file refuses it.
  const ofEval = process.execArgv.some((option) => option.startsWith('--input-type'));
  if (execArgv !== undefined) options.execArgv = [...execArgv];
  else if (ofEval)
    options.execArgv = process.execArgv.filter((option) => !option.startsWith('--input-type'));
  if (workerData !== undefined) options.workerData = workerData;
  const worker = new Worker(new URL('./entry.node.js', import.meta.url), options);
  return worker as unknown as PoolWorker;
});
