/** Node, and what behaves like it. */

import { readlinkSync } from 'node:fs';
import { availableParallelism, setPriority } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { type PoolWorker, usePoolPlatform } from './platform.js';

const nanoseconds = 1e-6;

usePoolPlatform({
  cores: availableParallelism(),
  start({ name, resourceLimits }) {
    const worker = new Worker(new URL('./entry.node.js', import.meta.url), {
      name,
      ...(resourceLimits && { resourceLimits: resourceLimits as ResourceLimits }),
    });
    return worker as unknown as PoolWorker;
  },
  watchEventLoop() {
    const resolution = 1;
    const delays = monitorEventLoopDelay({ resolution });
    delays.enable();
    const late = (time: number) => Math.max(0, time * nanoseconds - resolution);
    return {
      read: () => ({
        mean: late(delays.mean || 0),
        p99: late(delays.percentile(99)),
        max: late(delays.max),
      }),
      stop: () => delays.disable(),
    };
  },
  yieldTo(nice) {
    // Only on Linux has each thread a priority of its own.
    if (process.platform !== 'linux' || nice === 0) return;
    try {
      setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), nice);
    } catch {
      // Not allowed here; it runs as urgently as the others.
    }
  },
  heapUsed: () => getHeapStatistics().used_heap_size,
  onUncaught(listener) {
    process.on('uncaughtException', listener);
    process.on('unhandledRejection', listener);
  },
});
