/** The options with which the package starts workers in Node, Bun and Deno. */

import type { WorkerOptions } from 'node:worker_threads';
import type { ThreadOptions } from './types.js';

export function workerOptions(given: ThreadOptions): WorkerOptions {
  const { resourceLimits, env, argv, execArgv, workerData } = given;
  const options: WorkerOptions = {};
  if (resourceLimits !== undefined) options.resourceLimits = resourceLimits;
  if (env !== undefined) options.env = env as NonNullable<WorkerOptions['env']>;
  if (argv !== undefined) options.argv = [...argv];
  // `--input-type` describes the text of `node --eval`; a worker that is started from a file refuses it.
  const ofEval = process.execArgv.some((option) => option.startsWith('--input-type'));
  if (execArgv !== undefined) options.execArgv = [...execArgv];
  else if (ofEval)
    options.execArgv = process.execArgv.filter((option) => !option.startsWith('--input-type'));
  if (workerData !== undefined) options.workerData = workerData;
  return options;
}
