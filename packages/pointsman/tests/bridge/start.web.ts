/** Starts threads in a page. */
import type { Started } from './threads.js';

/** A thread that runs the tests' functions. */
export async function start(): Promise<Started> {
  const worker = new Worker('/thread.mjs', { type: 'module' });
  return {
    worker,
    listen: (listener) => worker.addEventListener('message', ({ data }) => listener(data)),
    post: (message, list) => worker.postMessage(message, list as Transferable[]),
    terminate: () => worker.terminate(),
  };
}

/** One whose script is not there. */
export function startNothing(): Started['worker'] {
  return new Worker('/nothing.mjs', { type: 'module' });
}
