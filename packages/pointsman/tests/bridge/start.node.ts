/** Starts threads in Node, and in what behaves like it: the host needs the parts of the bridge that are for Node. */
import '../../src/transport/platform.node.js';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { script } from './script.node.js';
import { startedAs } from './start.web.js';
import type { Started } from './threads.js';

/** A thread that runs the tests' functions. */
export async function start(): Promise<Started> {
  const worker = new Worker(await script());
  return {
    worker,
    listen: (listener) => worker.on('message', listener),
    post: (message, list) => worker.postMessage(message, list as never),
    terminate: () => void worker.terminate(),
    ended: new Promise((resolve) => worker.once('exit', resolve)),
  };
}

/** The same of the kind that browsers have, which Bun and Deno have too. */
export async function startWebWorker(): Promise<Started> {
  return startedAs(new globalThis.Worker(pathToFileURL(await script()), { type: 'module' }));
}

/** One whose script is not there. */
export function startNothing(): Started['worker'] {
  return new Worker('/there/is/no/such/file.mjs');
}
