/** Starts the thread that serves a namespace, so that a busy event loop of its process makes no other process wait. */

import { Worker } from 'node:worker_threads';

export interface ThreadData {
  readonly namespace: string;
  readonly directory: string | undefined;
}

export interface ServerThread {
  /** Resolves to whether the thread serves the namespace; it may fail to start. */
  readonly serving: Promise<boolean>;
  readonly ended: Promise<void>;
  /** Ends the server. Resolves when its successor may begin. */
  close(): Promise<void>;
}

export function startThread(namespace: string, directory: string | undefined): ServerThread {
  const workerData: ThreadData = { namespace, directory };
  let worker: Worker;
  try {
    worker = new Worker(new URL('./server-thread.js', import.meta.url), {
      workerData,
      name: 'pointsman host',
      // Options for the program, such as `--input-type` and `--import`, are not for this script.
      execArgv: [],
    });
  } catch {
    // Such as under the permission model, or where a bundler has left the script behind.
    return { serving: Promise.resolve(false), ended: Promise.resolve(), close: async () => {} };
  }
  worker.unref();
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const serving = new Promise<boolean>((resolve) => {
    worker.once('message', resolve);
    worker.on('error', () => resolve(false));
    void ended.then(() => resolve(false));
  });
  return {
    serving,
    ended,
    close() {
      worker.ref();
      worker.postMessage('close');
      return ended;
    },
  };
}
