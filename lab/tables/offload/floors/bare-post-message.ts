import { Worker } from 'node:worker_threads';
import type { PoolSubject } from '../subject.js';
import type { Asked } from '../workers/post-message.js';

const program = new URL('../workers/post-message.js', import.meta.url);

const floor: PoolSubject = {
  name: 'bare postMessage',
  role: 'floor',
  note: 'One message per task and one per answer, round robin. Without error handling, limits or close. A pool that batches tasks can be faster.',
  async open({ threads }) {
    const pending = new Map<number, (answer: unknown) => void>();
    const workers = Array.from({ length: threads }, () => new Worker(program));
    for (const worker of workers) {
      worker.on('message', ({ id, answer }: { readonly id: number; readonly answer: unknown }) => {
        pending.get(id)?.(answer);
        pending.delete(id);
      });
    }
    let last = 0;
    return {
      run: (task, given, options) =>
        new Promise((resolve) => {
          last += 1;
          pending.set(last, resolve);
          const asked = { id: last, task, given } as Asked;
          workers[last % threads]?.postMessage(asked, options?.transfer);
        }),
      end: () => Promise.all(workers.map((worker) => worker.terminate())),
    };
  },
};

export default floor;
