/** Starts threads in a page. */
import type { Started } from './threads.js';

export function startedAs(worker: Worker): Started {
  return {
    worker,
    listen: (listener) => worker.addEventListener('message', ({ data }) => listener(data)),
    post: (message, list) => worker.postMessage(message, list as Transferable[]),
    terminate: () => worker.terminate(),
    // A browser has no event for this.
    ended: new Promise(() => {}),
  };
}

/** Starts a thread that runs the tests' functions. */
export async function start(): Promise<Started> {
  return startedAs(new Worker('/thread.mjs', { type: 'module' }));
}

export const startWebWorker = start;

/** Starts a worker whose script does not exist. */
export function startNothing(): Started['worker'] {
  return new Worker('/nothing.mjs', { type: 'module' });
}
