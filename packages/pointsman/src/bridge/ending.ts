/**
 * Why a bridge has ended, and the errors of its calls.
 *
 * Invariant: each side of a bridge has one {@link Ending}. All its pending and later calls fail with the error of it.
 */

import { describe } from '../sync/errors.js';
import { toPlainError } from '../transport/outcome.js';
import { BridgeClosedError } from './errors.js';

export interface Ending {
  readonly text: string;
  /** The argument of `close` on this side. Calls reject with it instead of a `BridgeClosedError`. */
  readonly reason?: unknown;
  /** The argument of `close` on the other side. */
  readonly cause?: unknown;
}

export const workerHasEnded = 'the worker has ended';
export const hostHasEnded = 'the host has ended';

export const closedHere = (reason: unknown): Ending => ({
  text: withReason('closed here', reason),
  reason,
});

export const closedThere = (cause: unknown): Ending => ({
  text: withReason('the other side has closed the bridge', cause),
  cause,
});

function withReason(what: string, reason: unknown): string {
  if (reason === undefined) return what;
  if (typeof reason === 'string') return `${what}: ${reason}`;
  return `${what}: ${reason instanceof Error ? toPlainError(reason).message : describe(reason)}`;
}

/** Returns the error of `call`. `what` is the beginning of its message. */
export function endingError({ text, reason, cause }: Ending, call: string, what: string): unknown {
  if (reason !== undefined) return reason;
  return new BridgeClosedError(`${what}: ${text}`, call, cause === undefined ? {} : { cause });
}

export const unanswered = (ending: Ending, call: string): unknown =>
  endingError(ending, call, `${call}() has no answer`);
