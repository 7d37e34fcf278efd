/**
 * Validates the messages that a host gets from its threads. A thread may run any code, so none of its messages may end
 * the host, keep it busy, or affect tasks of other threads.
 */

import { STRIDE } from '../transport/batches.js';
import { kindOf, SEND } from '../transport/endpoint.js';

/** Returns whether the message is a batch of records. Calls without a reply are refused: no caller would see their error. */
export function isBatch(message: unknown): message is readonly unknown[] {
  if (!Array.isArray(message) || message.length % STRIDE !== 0) return false;
  for (let at = 0; at < message.length; at += STRIDE) {
    const flags: unknown = message[at];
    if (typeof flags !== 'number' || kindOf(flags) === SEND) return false;
    if (typeof message[at + 1] !== 'number') return false;
  }
  return true;
}

/** Returns the value if it is a list of function names; throws otherwise. */
export function namesOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
  throw new TypeError('names of functions were expected');
}

/** Returns a time in milliseconds, or undefined if it is not a valid one. */
export function timeOf(value: unknown): number | undefined {
  return Number.isFinite(value) && (value as number) >= 0 ? (value as number) : undefined;
}
