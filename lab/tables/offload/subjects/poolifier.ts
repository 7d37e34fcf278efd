import { fileURLToPath } from 'node:url';
import type { PoolSubject } from '../subject.js';

const filename = fileURLToPath(new URL('../workers/poolifier.js', import.meta.url));

const subject: PoolSubject = {
  name: 'poolifier',
  role: 'peer',
  package: 'poolifier',
  note: 'A fixed pool. Cannot return a buffer without copying it; its queues have no limit.',
  async open({ threads, megabytes }) {
    const { FixedThreadPool } = await import('poolifier');
    const pool = new FixedThreadPool<unknown, unknown>(threads, filename, {
      ...(megabytes === undefined
        ? {}
        : { workerOptions: { resourceLimits: { maxOldGenerationSizeMb: megabytes } } }),
    });
    return {
      run(task, given, options) {
        if (options === undefined) return pool.execute(given, task);
        return pool.execute(given, task, options.signal, options.transfer);
      },
      end: () => pool.destroy(),
    };
  },
};

export default subject;
