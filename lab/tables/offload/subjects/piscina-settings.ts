/** The settings that all variants of piscina share. */
import { fileURLToPath } from 'node:url';
import type { OpenPool, PoolSettings } from '../subject.js';

const filename = fileURLToPath(new URL('../workers/piscina.js', import.meta.url));

export async function openPiscina(
  { threads, megabytes, maxWaiting }: PoolSettings,
  {
    fixedQueue = false,
    ...setting
  }: {
    readonly concurrentTasksPerWorker?: number;
    readonly atomics?: 'sync';
    readonly recordTiming?: boolean;
    readonly fixedQueue?: boolean;
    readonly niceIncrement?: number;
  },
): Promise<OpenPool> {
  const { Piscina, FixedQueue } = await import('piscina');
  const pool = new Piscina({
    filename,
    minThreads: threads,
    maxThreads: threads,
    ...(megabytes === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: megabytes } }),
    ...(maxWaiting === undefined ? {} : { maxQueue: maxWaiting }),
    ...(fixedQueue ? { taskQueue: new FixedQueue() } : {}),
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
