/** The settings that both variants of poolifier share. */
import { fileURLToPath } from 'node:url';
import type { OpenPool, PoolSettings } from '../subject.js';

const filename = fileURLToPath(new URL('../workers/poolifier.js', import.meta.url));

export async function openPoolifier(
  { threads, megabytes }: PoolSettings,
  setting: { readonly enableTasksQueue?: boolean },
): Promise<OpenPool> {
  const { FixedThreadPool } = await import('poolifier');
  const pool = new FixedThreadPool<unknown, unknown>(threads, filename, {
    ...(megabytes === undefined
      ? {}
      : { workerOptions: { resourceLimits: { maxOldGenerationSizeMb: megabytes } } }),
    ...setting,
  });
  return {
    run(task, given, options) {
      if (options === undefined) return pool.execute(given, task);
      return pool.execute(given, task, options.signal, options.transfer);
    },
    end: () => pool.destroy(),
  };
}
