/**
 * Counters of fixed windows: how many hits a key has had since its window began. Pure: the caller passes the store's
 * clock. All times are whole milliseconds.
 *
 * Law: a window begins with the first hit after the end of the previous window. It ends after its span, however many hits
 * follow. Only a request with `growth` moves the end, and only with a hit above its limit.
 *
 * Invariants:
 * - A total is never below 0. A hit that is taken back after the end of its window changes nothing.
 * - If the store's clock goes back, a window begins at the new time: it is never longer than its span from then on.
 */

import type { Batch, Operation, Result } from './protocol.js';

export interface CounterState {
  total: number;
  /** The time at which the window began, and its length. */
  began: number;
  span: number;
}

export interface CountRequest {
  readonly counter: string;
  /** The hits to add; negative ones are taken back, and 0 reads. */
  readonly by: number;
  /** The length of a window that begins. */
  readonly window: number;
  /** With a hit above this total the window begins anew, `growth` times as long as by the hit before. */
  readonly above: number;
  /** 0 if the window never begins anew. */
  readonly growth: number;
}

export interface CountResult {
  readonly name: 'count';
  readonly total: number;
  /** Until the window ends; 0 if there is none. */
  readonly left: number;
}

/** The largest total and the longest window that fit into the text of a state. */
const MOST = Number.MAX_SAFE_INTEGER;
/** The number of counters that each operation checks, to delete those whose window has ended. */
const SWEPT = 2;

/** Returns how long the window still lasts, or 0 or less if it has ended. Exact, as the end of a long window is not. */
export const leftOf = ({ began, span }: CounterState, now: number): number => span - (now - began);

/** Whether a batch is of counters. It then needs no session, and has no other operations. */
export const isOfCounters = ({ join, operations }: Pick<Batch, 'join' | 'operations'>): boolean =>
  join === 'none' && operations.every(({ name }) => name === 'count' || name === 'forget');

/** Applies operations of counters. `micros`: the store's clock in microseconds. */
export function applyCounters(
  counters: Map<string, CounterState>,
  operations: readonly Operation[],
  micros: number,
): Result[] {
  const now = Math.floor(micros / 1000);
  return operations.map((operation): Result => {
    sweep(counters, now);
    if (operation.name === 'count') return count(counters, operation, now);
    const { counter } = operation as Operation & { readonly name: 'forget' };
    counters.delete(counter);
    return { name: 'number', value: 0 };
  });
}

function count(
  counters: Map<string, CounterState>,
  { counter, by, window, above, growth }: CountRequest,
  now: number,
): CountResult {
  const stored = counters.get(counter);
  let { total, began, span } = stored ?? { total: 0, began: now, span: 0 };
  began = Math.min(began, now);
  if (leftOf({ total, began, span }, now) <= 0) {
    if (by <= 0) return { name: 'count', total: 0, left: 0 };
    total = 0;
    began = now;
    span = window;
  }
  total = Math.min(Math.max(total + by, 0), MOST);
  if (by > 0 && growth > 0 && total > above) {
    began = now;
    span = Math.min(window * growth ** (total - above - 1), MOST);
  }
  if (by !== 0) {
    // Moves to the end: `sweep` looks at the others first.
    counters.delete(counter);
    counters.set(counter, { total, began, span });
  }
  return { name: 'count', total, left: leftOf({ total, began, span }, now) };
}

function sweep(counters: Map<string, CounterState>, now: number): void {
  for (let i = 0; i < SWEPT; i++) {
    const [first] = counters;
    if (first === undefined) return;
    const [counter, state] = first;
    counters.delete(counter);
    if (leftOf(state, now) > 0) counters.set(counter, state);
  }
}
