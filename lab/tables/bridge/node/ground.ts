/** Node as the ground of a session: the host is this thread, its workers are worker_threads. */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { rectWithoutPage } from '../host/functions.js';
import type { Ground } from '../host/session.js';
import type { Part, Platform } from '../subject.js';
import { nodeThread } from './thread.js';

/** The data that a worker starts with. */
export interface WorkerTask {
  readonly subject: string;
  readonly part: Part;
  readonly channel: string;
}

const program = fileURLToPath(new URL('./worker.js', import.meta.url));

export function nodeGround(platform: Platform, subject: string): Ground {
  return {
    platform,
    rect: rectWithoutPage,
    startWorker(task, onError) {
      const workerData: WorkerTask = { subject, ...task };
      const worker = new Worker(program, { workerData });
      worker.on('error', onError);
      return { raw: worker, thread: nodeThread(worker), end: () => void worker.terminate() };
    },
  };
}
