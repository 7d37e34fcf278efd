/** What a pool has done so far. */

import { Histogram, type Summary } from './histogram.js';
import { type Delay, poolPlatform } from './platform.js';

export interface PoolMetrics {
  /** Tasks that have given a result. */
  readonly completed: number;
  /** Tasks that have thrown, or have been lost with their thread. */
  readonly failed: number;
  /** Tasks that were given up: aborted, timed out, refused. */
  readonly cancelled: number;
  /** Milliseconds from the call until the task began. */
  readonly queueWait: Summary;
  /** Milliseconds that tasks have run. */
  readonly runTime: Summary;
  /** The part of the threads' lives in which they have run tasks, from 0 to 1. */
  readonly utilization: number;
  /**
   * By how many milliseconds turns of this thread's event loop came late, as looked at every 20 ms: what is
   * shorter may be missed. Measured from the first time that it is read until the pool is closed; undefined
   * then, and in browsers.
   */
  readonly eventLoopDelay: Delay | undefined;
  readonly threadsStarted: number;
  /** Threads that have ended although nobody had asked them to. */
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
  /** Milliseconds that tasks have run, and that threads have lived which are gone. */
  #busy = 0;
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

  /** `startedAt`: of the threads that live. */
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
