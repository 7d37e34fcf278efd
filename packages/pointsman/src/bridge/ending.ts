/**
 * Why a bridge has ended, and what that makes of the calls that have no answer.
 *
 * Invariant: a bridge ends once, with one of these, and whoever waits on its side or comes later is refused with that.
 */

import { describe } from '../sync/errors.js';
import { toPlainError } from '../transport/outcome.js';
import { BridgeClosedError } from './errors.js';

export interface Ending {
  /** What has happened. */
  readonly text: string;
  /** What `close` was given here: calls are refused with it, instead of an error that says what has happened. */
  readonly reason?: unknown;
  /** What `close` was given on the other side. */
  readonly cause?: unknown;
}

export const workerHasEnded = 'the worker has ended';
export const hostHasEnded = 'the host has ended';

/** `reason` is undefined where none was given. */
export const closedHere = (reason: unknown): Ending => ({
  text: explained('closed here', reason),
  reason,
});

export const closedThere = (cause: unknown): Ending => ({
  text: explained('the other side has closed the bridge', cause),
  cause,
});

function explained(what: string, reason: unknown): string {
  if (reason === undefined) return what;
  if (typeof reason === 'string') return `${what}: ${reason}`;
  return `${what}: ${reason instanceof Error ? toPlainError(reason).message : describe(reason)}`;
}

/** What whoever called `call` is refused with; `what` begins the message of an error that says why. */
export function refusal({ text, reason, cause }: Ending, call: string, what: string): unknown {
  if (reason !== undefined) return reason;
  return new BridgeClosedError(`${what}: ${text}`, call, cause === undefined ? {} : { cause });
}

/** The same for a call that was made and has no answer. */
export const unanswered = (ending: Ending, call: string): unknown =>
  refusal(ending, call, `${call}() has no answer`);
