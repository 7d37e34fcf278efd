/** Node, and what behaves like it. */

import { readlinkSync } from 'node:fs';
import { availableParallelism, setPriority } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { usePoolPlatform } from './platform.js';

const nanoseconds = 1e-6;

/** Measures the event loop of this thread. */
function watchEventLoop() {
  // Milliseconds between looks: one each millisecond would take 3 % of a core, this takes a quarter of one.
  const resolution = 20;
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  // What is measured is the time between looks; in Bun already by how much it was too long.
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
  // In Deno and Bun a port with a listener takes a message some turns before it hands it on: meanwhile a
  // later one would be received in its place. With one core whoever looks keeps the other from running.
  canPoll: !('Deno' in globalThis || 'Bun' in globalThis) && availableParallelism() > 1,
  // In Deno what measures it sees nothing of a loop that is kept busy.
  ...(!('Deno' in globalThis) && { watchEventLoop }),
  setPriority(nice) {
    // Only on Linux has each thread a priority of its own.
    if (process.platform !== 'linux' || nice === 0) return;
    try {
      setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), nice);
    } catch {
      // Not allowed here; it runs as urgently as the others.
    }
  },
  heapUsed: () => getHeapStatistics().used_heap_size,
  onExit: (listener) => process.on('exit', listener),
  onUncaught(listener) {
    process.on('uncaughtException', listener);
    process.on('unhandledRejection', listener);
  },
});
