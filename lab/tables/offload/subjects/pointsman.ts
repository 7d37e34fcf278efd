import type { PoolSubject } from '../subject.js';

const subject: PoolSubject = {
  name: 'pointsman',
  role: 'ours',
  package: 'pointsman',
  async open({ threads, megabytes, capacity }) {
    const { Pool } = await import('pointsman/pool');
    const pool = new Pool<typeof import('../workers/pointsman.js')>({
      module: new URL('../workers/pointsman.js', import.meta.url),
      threads,
      ...(megabytes === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: megabytes } }),
      ...(capacity === undefined ? {} : { capacity, whenFull: 'reject' }),
    });
    return {
      run(task, given, options) {
        return pool.run(task, [given] as never, options) as Promise<unknown>;
      },
      end: () => pool.terminate(),
    };
  },
};

export default subject;
