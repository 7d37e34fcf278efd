/** The keys of a namespace other than its state: one for each limiter, each key of one, and each counter. */

import { type CounterState, isOfCounters, leftOf } from '../../shared/protocol/counters.js';
import { parse } from '../../shared/protocol/malformed.js';
import type { Batch } from '../../shared/protocol/protocol.js';
import type { State } from '../../shared/protocol/state.js';
import { counterKeyOf, limiterKeyOf } from './handler.js';
import { loadStarts, storeStarts } from './stored-starts.js';

/** How one kind of records is stored. A batch has records of one kind. */
export interface RecordKind {
  keyOf(base: string, name: string): string;
  load(state: State, name: string, text: string): void;
  /** Returns the text and its time to live in milliseconds. `now`: the server's clock in microseconds. */
  store(state: State, name: string, now: number): { text: string; left: number } | undefined;
}

const starts: RecordKind = {
  keyOf: limiterKeyOf,
  load: ({ limiters }, name, text) => limiters.set(name, loadStarts(text)),
  store({ limiters }, name, now) {
    const state = limiters.get(name);
    return state && { text: storeStarts(state), left: Math.ceil((state.expires - now) / 1000) };
  },
};

/** Parses a counter like `lua/0-counters.lua`. */
export function loadCounter(text: string): CounterState {
  const words = parse('the record of a counter', text, /^(\d+) (\d+) (\d+)$/).slice(1, 4);
  const [total, began, span] = words.map(Number) as [number, number, number];
  return { total, began, span };
}

export const storeCounter = ({ total, began, span }: CounterState): string =>
  `${total} ${began} ${span}`;

const counters: RecordKind = {
  keyOf: counterKeyOf,
  load: ({ counters }, name, text) => counters.set(name, loadCounter(text)),
  store({ counters }, name, now) {
    const state = counters.get(name);
    return state && { text: storeCounter(state), left: leftOf(state, Math.floor(now / 1000)) };
  },
};

export const kindOf = (batch: Batch): RecordKind => (isOfCounters(batch) ? counters : starts);
