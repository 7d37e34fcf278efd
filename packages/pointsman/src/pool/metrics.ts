/** Counters and timings of a pool. */

import { Histogram, type Summary } from './histogram.js';
import { type Delay, poolPlatform } from './platform.js';

/** Counters and timings of a pool since its creation. */
export interface PoolMetrics {
  /** The number of tasks that returned a result. */
  readonly completed: number;
  /** The number of tasks that threw, or whose thread ended. */
  readonly failed: number;
  /** The number of tasks that were aborted, timed out, or were refused. */
  readonly cancelled: number;
  /** Milliseconds from the call of `run` until the task began. */
  readonly queueWait: Summary;
  /** Milliseconds that tasks ran. */
  readonly runTime: Summary;
  /** The share of the threads' lifetimes in which they ran tasks, from 0 to 1. */
  readonly utilization: number;
  /**
   * The delay of this thread's event loop in milliseconds, sampled every 20 ms; shorter delays may be missed. Measured
   * from the first read until the pool is closed. Undefined after that, in browsers and in Deno.
   */
  readonly eventLoopDelay: Delay | undefined;
  /** The number of threads that were started. */
  readonly threadsStarted: number;
  /** The number of threads that ended without a request of the pool. */
  readonly threadsLost: number;
}

export class Metrics {
  completed = 0;
  failed = 0;
  cancelled = 0;
  threadsStarted = 0;
  threadsLost = 0;
  readonly #queueWait = new Histogram();
  readonly #runTime = new Histogram();
  /** Total run time of all tasks. */
  #busy = 0;
  /** Total lifetime of the threads that have ended. */
  #lived = 0;
  #eventLoop: { read(): Delay; stop(): void } | undefined;
  #isStopped = false;

  ran(wait: number, time: number): void {
    this.#queueWait.record(wait);
    this.#runTime.record(time);
    this.#busy += time;
  }

  threadEnded(startedAt: number): void {
    this.#lived += performance.now() - startedAt;
  }

  /** `startedAt`: the start times of the live threads. */
  read(startedAt: Iterable<number>): PoolMetrics {
    let lived = this.#lived;
    for (const start of startedAt) lived += performance.now() - start;
    if (!this.#isStopped) this.#eventLoop ??= poolPlatform.watchEventLoop?.();
    return {
      completed: this.completed,
      failed: this.failed,
      cancelled: this.cancelled,
      queueWait: this.#queueWait.summary(),
      runTime: this.#runTime.summary(),
      utilization: lived > 0 ? Math.min(1, this.#busy / lived) : 0,
      eventLoopDelay: this.#eventLoop?.read(),
      threadsStarted: this.threadsStarted,
      threadsLost: this.threadsLost,
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#eventLoop?.stop();
    this.#eventLoop = undefined;
  }
}
