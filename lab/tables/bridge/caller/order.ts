/** Orders to the calling thread, and its answers. Both are messages between threads. */
import type { Work } from '../work.js';

export interface Order {
  readonly work: Work;
  readonly milliseconds: number;
}

export interface Found {
  /** By measure: calls per second; for single calls microseconds; for frames milliseconds. */
  readonly samples: Readonly<Record<string, number>>;
  /** The number of all calls, including those that were not timed. */
  readonly calls: number;
}

export type Answer =
  | { readonly found: Found }
  | { readonly failed: string }
  | { readonly ready: true };

export function failure(error: unknown): Answer {
  return { failed: error instanceof Error ? error.message : String(error) };
}
