import { fileURLToPath } from 'node:url';
import type { PoolSubject } from '../subject.js';

const script = fileURLToPath(new URL('../workers/workerpool.js', import.meta.url));

const subject: PoolSubject = {
  name: 'workerpool',
  role: 'peer',
  package: 'workerpool',
  note: 'Has no signals: an abort calls cancel().',
  async open({ threads, megabytes, maxWaiting }) {
    const { pool: createPool } = await import('workerpool');
    const pool = createPool(script, {
      workerType: 'thread',
      minWorkers: threads,
      maxWorkers: threads,
      ...(megabytes === undefined
        ? {}
        : { workerThreadOpts: { resourceLimits: { maxOldGenerationSizeMb: megabytes } } }),
      ...(maxWaiting === undefined ? {} : { maxQueueSize: maxWaiting }),
    });
    return {
      run(task, given, options) {
        if (options === undefined) return pool.exec(task, [given]) as never;
        const { transfer = [], signal } = options;
        const promise = pool.exec(task, [given], { transfer: [...transfer] });
        signal?.addEventListener('abort', () => promise.cancel(), { once: true });
        return promise as never;
      },
      end: () => pool.terminate(true) as never,
    };
  },
};

export default subject;
