/** The settings that both variants of tinypool share. */
import { fileURLToPath } from 'node:url';
import type { OpenPool, PoolSettings } from '../subject.js';

const filename = fileURLToPath(new URL('../workers/tinypool.js', import.meta.url));

export async function openTinypool(
  { threads, megabytes, maxWaiting }: PoolSettings,
  setting: { readonly concurrentTasksPerWorker?: number },
): Promise<OpenPool> {
  const { Tinypool } = await import('tinypool');
  const pool = new Tinypool({
    filename,
    minThreads: threads,
    maxThreads: threads,
    ...(megabytes === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: megabytes } }),
    ...(maxWaiting === undefined ? {} : { maxQueue: maxWaiting }),
    ...setting,
  });
  return {
    run(name, given, options) {
      if (options === undefined) return pool.run(given, { name });
      const { transfer = [], signal = null } = options;
      return pool.run(given, { name, transferList: [...transfer], signal });
    },
    end: () => pool.destroy(),
  };
}
