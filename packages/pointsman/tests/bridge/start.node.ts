/** Starts threads in Node and compatible runtimes. The host needs the Node platform of the bridge. */
import '../../src/transport/platform.node.js';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { script } from './script.node.js';
import { startedAs } from './start.web.js';
import type { Started } from './threads.js';

/** Starts a thread that runs the tests' functions. */
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

/** Starts a Web Worker, which Bun and Deno support too. */
export async function startWebWorker(): Promise<Started> {
  return startedAs(new globalThis.Worker(pathToFileURL(await script()), { type: 'module' }));
}

/** Starts a worker whose script does not exist. */
export function startNothing(): Started['worker'] {
  return new Worker('/there/is/no/such/file.mjs');
}
