/**
 * One end of a bridge, as calls.ts, host.ts and worker.ts see it: over rings in shared memory, or over
 * messages where memory cannot be shared.
 *
 * Invariant: whatever way it goes, each call has one outcome, and calls are carried out in the order in which they
 * were made.
 */

import type { WaitOptions } from '../sync/options.js';
import type { Ending } from './ending.js';

/** A call of the function with this number. */
export interface TargetedCall {
  readonly target: number;
  readonly args: readonly unknown[];
}

export interface BridgeEndpoint {
  /** What the other side serves, by number. */
  readonly names: readonly string[];
  /** The other side serves these: from now on it can be called, and calls. */
  begin(names: readonly string[]): void;
  call(target: number, args: readonly unknown[], options?: WaitOptions): Promise<unknown>;
  /** The same without an answer. */
  send(target: number, args: readonly unknown[]): void;
  /** Blocks until the answer is there; throws where this thread cannot block. */
  block(target: number, args: readonly unknown[], options?: WaitOptions): unknown;
  /** Makes all calls at once and blocks until all answers are there. */
  blockForAll(calls: readonly TargetedCall[], options?: WaitOptions): unknown[];
  /** A message of the other side's endpoint has come. `isInFrame`: while a frame is being read. */
  receive(type: string, payload: unknown, isInFrame: boolean): void;
  /**
   * Called for an unreadable message of the other side's endpoint. Returns whether it is known which call the message
   * belongs to; only that call then fails.
   */
  receiveUnreadable(cause: unknown, isInFrame: boolean): boolean;
  /** Handles all that the other side has said, before the bridge is closed. */
  drain(): void;
  /** Why the other side is about to close the bridge, if it has given a reason. */
  readonly otherReason: unknown;
  /** Sends what was written, and the reason for which this side is about to close the bridge, if there is one. */
  takeLeave(reason: unknown): void;
  /** Ends all calls. */
  close(ending: Ending): void;
}
