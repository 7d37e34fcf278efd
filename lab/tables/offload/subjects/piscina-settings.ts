/** What all settings of piscina have in common. */
import { fileURLToPath } from 'node:url';
import type { OpenPool, PoolSettings } from '../subject.js';

const filename = fileURLToPath(new URL('../workers/piscina.js', import.meta.url));

export async function openPiscina(
  { threads, megabytes, capacity }: PoolSettings,
  setting: {
    readonly concurrentTasksPerWorker?: number;
    readonly atomics?: 'async';
    readonly niceIncrement?: number;
  },
): Promise<OpenPool> {
  const { Piscina } = await import('piscina');
  const pool = new Piscina({
    filename,
    minThreads: threads,
    maxThreads: threads,
    ...(megabytes === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: megabytes } }),
    ...(capacity === undefined ? {} : { maxQueue: capacity }),
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
