/** The stored form of a counter in Redis, which the script reads and writes too: `lua/0-counters.lua`. */

import type { CounterState } from '../../shared/protocol/counters.js';
import { parse } from '../../shared/protocol/wire.js';

export function loadCounter(text: string): CounterState {
  const words = parse('the record of a counter', text, /^(\d+) (\d+) (\d+)$/).slice(1, 4);
  const [total, began, span] = words.map(Number) as [number, number, number];
  return { total, began, span };
}

export const storeCounter = ({ total, began, span }: CounterState): string =>
  `${total} ${began} ${span}`;
