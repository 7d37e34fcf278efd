/** What the calling thread is told to do, and what it answers. Both cross between threads. */
import type { Work } from '../work.js';

export interface Order {
  readonly work: Work;
  readonly warmUpMilliseconds: number;
  readonly samples: number;
  readonly sampleMilliseconds: number;
  /** So many calls are timed together, where the clock is too coarse for one. */
  readonly group: number;
}

export interface Found {
  /** Calls per second; for single calls microseconds. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /** All that were made, those to warm up too. */
  readonly calls: number;
}

export type Answer =
  | { readonly found: Found }
  | { readonly failed: string }
  | { readonly ready: true };

export function failure(error: unknown): Answer {
  return { failed: error instanceof Error ? error.message : String(error) };
}
