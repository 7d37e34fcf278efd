/** Starts threads in a page. */
import type { Started } from './threads.js';

export function startedAs(worker: Worker): Started {
  return {
    worker,
    listen: (listener) => worker.addEventListener('message', ({ data }) => listener(data)),
    post: (message, list) => worker.postMessage(message, list as Transferable[]),
    terminate: () => worker.terminate(),
    // Nothing tells.
    ended: new Promise(() => {}),
  };
}

/** A thread that runs the tests' functions. */
export async function start(): Promise<Started> {
  return startedAs(new Worker('/thread.mjs', { type: 'module' }));
}

export const startWebWorker = start;

/** One whose script is not there. */
export function startNothing(): Started['worker'] {
  return new Worker('/nothing.mjs', { type: 'module' });
}
