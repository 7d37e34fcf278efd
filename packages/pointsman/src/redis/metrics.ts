/**
 * What a mutex counts, for whoever watches it. The histograms keep a fixed size
 * however long the program runs.
 */

import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { Activity } from './activity.js';

/** How long something took, in milliseconds. */
export interface Durations {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What {@link RedisMutex.metrics} tells, counted since the mutex was made. */
export interface RedisMutexMetrics {
  /** From asking for a lock to having it. */
  readonly wait: Durations;
  /** From having a lock to giving it back. */
  readonly hold: Durations;
  /** Locks that went from one task of this process to the next without the server. */
  readonly handOffs: number;
  /** Requests that the server granted. */
  readonly grants: number;
  /** Times that this process was asked to give keys back because somebody elsewhere waited. */
  readonly revocations: number;
  /** Locks that were lost while they were held. */
  readonly losses: number;
  /** Batches sent to the server, heartbeats included. */
  readonly batches: number;
  /** Messages in the channels of this mutex that were dropped because they were malformed or not signed. */
  readonly malformedMessages: number;
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
  readonly activity = new Activity();
  readonly #wait = createHistogram();
  readonly #hold = createHistogram();
  handOffs = 0;
  grants = 0;
  revocations = 0;
  losses = 0;
  batches = 0;
  malformedMessages = 0;

  waited(milliseconds: number): void {
    this.#wait.record(Math.max(1, Math.round(milliseconds * 1e6)));
  }

  held(milliseconds: number): void {
    this.#hold.record(Math.max(1, Math.round(milliseconds * 1e6)));
  }

  snapshot(): RedisMutexMetrics {
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
