/** The orders to the calling thread, and its answers. Both cross between threads. */
import type { Work } from '../work.js';

export interface Order {
  readonly work: Work;
  readonly warmUpMilliseconds: number;
  readonly samples: number;
  readonly sampleMilliseconds: number;
  /** The number of calls that are timed together, where the clock is too coarse for one. */
  readonly group: number;
}

export interface Found {
  /** Calls per second; for single calls microseconds. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /** The number of all calls, those of the warm-up included. */
  readonly calls: number;
}

export type Answer =
  | { readonly found: Found }
  | { readonly failed: string }
  | { readonly ready: true };

export function failure(error: unknown): Answer {
  return { failed: error instanceof Error ? error.message : String(error) };
}
