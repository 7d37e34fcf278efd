/** Node, Bun and Deno. */

import { readlinkSync } from 'node:fs';
import { availableParallelism, setPriority } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { usePoolPlatform } from './platform.js';

const nanoseconds = 1e-6;

function watchEventLoop() {
  // Milliseconds between samples. Sampling every millisecond would take 3 % of a core.
  const resolution = 20;
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  // Node and Deno report the time between two samples, Bun the delay.
  const expected = 'Bun' in globalThis ? 0 : resolution;
  const late = (time: number) => Math.max(0, time * nanoseconds - expected);
  return {
    read: () => ({
      mean: late(delays.mean || 0),
      p99: late(delays.percentile(99)),
      max: late(delays.max),
    }),
    stop: () => delays.disable(),
  };
}

usePoolPlatform({
  cores: availableParallelism(),
  // In Deno and Bun a port with a listener holds a message for some turns before it delivers it, so a later message
  // would be received first. On one core, a polling thread would keep the other from running.
  canPoll: !('Deno' in globalThis || 'Bun' in globalThis) && availableParallelism() > 1,
  // Deno's monitor does not see a blocked event loop.
  ...(!('Deno' in globalThis) && { watchEventLoop }),
  setPriority(nice) {
    // Only Linux has priorities per thread.
    if (process.platform !== 'linux' || nice === 0) return;
    try {
      setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), nice);
    } catch {
      // Not permitted: the thread keeps its priority.
    }
  },
  heapUsed: () => getHeapStatistics().used_heap_size,
  onExit: (listener) => process.on('exit', listener),
  onUncaught(listener) {
    process.on('uncaughtException', listener);
    process.on('unhandledRejection', listener);
  },
});
