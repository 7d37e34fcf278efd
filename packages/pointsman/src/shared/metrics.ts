/**
 * The counters of a mutex. The histograms have a fixed size.
 */

import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { notIdle } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';

/** Durations in milliseconds. */
export interface Durations {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Counters of a {@link SharedMutex} since its creation. */
export interface SharedMutexMetrics {
  /** From the request for a lock to its grant. */
  readonly wait: Durations;
  /** From the grant of a lock to its release. */
  readonly hold: Durations;
  /** Locks passed from one task of this process to the next without the server. */
  readonly handOffs: number;
  /** Requests that the server granted. */
  readonly grants: number;
  /** How often the server asked this process to give keys back because another process waits for them. */
  readonly revocations: number;
  /** Locks lost while they were held. */
  readonly losses: number;
  /** Batches sent to the server, including heartbeats. */
  readonly batches: number;
  /** Messages in the channels of this mutex that were dropped because they were malformed or not signed. */
  readonly malformedMessages: number;
}

/**
 * Counts the waiting requests and the held locks of a mutex.
 *
 * Invariant: a request counts as waiting from the call until it is granted or refused. Its lock counts as held from the
 * grant until it is lost or the server has acknowledged its release. The mutex never appears idle in between.
 */
export class Activity {
  waiting = 0;
  held = 0;
  readonly #drains = new Set<() => void>();

  count(waiting: number, held: number): void {
    this.waiting += waiting;
    this.held += held;
    if (this.#drains.size === 0 || this.waiting + this.held > 0) return;
    const drains = [...this.#drains];
    this.#drains.clear();
    for (const resolve of drains) resolve();
  }

  /** Resolves when nothing is held and no request waits. Rejects when `timeout` elapses or `signal` aborts. */
  async drain(options: WaitOptions = {}, label = ''): Promise<void> {
    checkWaitOptions(options);
    const { signal, timeout } = options;
    if (signal?.aborted) throw signal.reason;
    if (this.waiting + this.held === 0) return;
    const left = (ms: number) => notIdle(ms, label, this.held, this.waiting);
    if (timeout === 0) throw left(0);
    await new Promise<void>((resolve, reject) => {
      const done = (): void => {
        stop();
        resolve();
      };
      const giveUp = (reason: unknown): void => {
        this.#drains.delete(done);
        reject(reason);
      };
      const stop = giveUpOn(options, giveUp, left);
      this.#drains.add(done);
    });
  }
}

const durationsOf = (histogram: RecordableHistogram): Durations =>
  histogram.count === 0
    ? { count: 0, mean: 0, p50: 0, p99: 0, max: 0 }
    : {
        count: histogram.count,
        mean: histogram.mean / 1e6,
        p50: histogram.percentile(50) / 1e6,
        p99: histogram.percentile(99) / 1e6,
        max: histogram.max / 1e6,
      };

export class Metrics {
  readonly activity: Activity;
  readonly #wait = createHistogram();
  readonly #hold = createHistogram();
  handOffs = 0;
  grants = 0;
  revocations = 0;
  losses = 0;
  batches = 0;
  malformedMessages = 0;

  constructor(activity = new Activity()) {
    this.activity = activity;
  }

  waited(milliseconds: number): void {
    this.#wait.record(Math.max(1, Math.round(milliseconds * 1e6)));
  }

  held(milliseconds: number): void {
    this.#hold.record(Math.max(1, Math.round(milliseconds * 1e6)));
  }

  snapshot(): SharedMutexMetrics {
    const { handOffs, grants, revocations, losses, batches, malformedMessages } = this;
    return {
      wait: durationsOf(this.#wait),
      hold: durationsOf(this.#hold),
      handOffs,
      grants,
      revocations,
      losses,
      batches,
      malformedMessages,
    };
  }
}
