/** The settings that our variants share. */
import type { OpenPool, PoolSettings } from '../subject.js';

export async function openPointsman(
  { threads, megabytes, maxWaiting }: PoolSettings,
  setting: { readonly nice?: number },
): Promise<OpenPool> {
  const { Pool } = await import('pointsman/pool');
  const pool = new Pool<typeof import('../workers/pointsman.js')>({
    module: new URL('../workers/pointsman.js', import.meta.url),
    threads,
    minThreads: threads,
    ...(megabytes === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: megabytes } }),
    ...(maxWaiting === undefined ? {} : { maxWaiting, whenFull: 'reject' }),
    ...setting,
  });
  return {
    run(task, given, options) {
      return pool.run(task, [given] as never, options) as Promise<unknown>;
    },
    end: () => pool.terminate(),
  };
}
