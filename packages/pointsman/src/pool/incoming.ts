/**
 * What a host accepts of its threads. A thread runs code that may do anything, so none of its messages may end the
 * host, keep it busy, or touch tasks of other threads.
 */

import { STRIDE } from '../transport/batches.js';
import { kindOf, SEND } from '../transport/endpoint.js';

/** Whether it is a batch of records. A thread sends no calls without an answer: what they throw would have no caller. */
export function isBatch(message: unknown): message is readonly unknown[] {
  if (!Array.isArray(message) || message.length % STRIDE !== 0) return false;
  for (let at = 0; at < message.length; at += STRIDE) {
    const flags: unknown = message[at];
    if (typeof flags !== 'number' || kindOf(flags) === SEND) return false;
    if (typeof message[at + 1] !== 'number') return false;
  }
  return true;
}

/** The names of functions; throws if they are none. */
export function namesOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
  throw new TypeError('names of functions were expected');
}

/** A time in milliseconds; undefined if it is none. */
export function timeOf(value: unknown): number | undefined {
  return Number.isFinite(value) && (value as number) >= 0 ? (value as number) : undefined;
}
