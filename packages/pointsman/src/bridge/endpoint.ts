/**
 * The interface of one end of a bridge, over rings in shared memory or over messages where memory cannot be shared.
 *
 * Invariant: each call has one outcome, and calls run in the order in which they were made.
 */

import type { WaitOptions } from '../sync/options.js';
import type { Ending } from './ending.js';

export interface TargetedCall {
  readonly target: number;
  readonly args: readonly unknown[];
}

export interface BridgeEndpoint {
  /** The functions that the other side serves, by number. */
  readonly names: readonly string[];
  /** Called when the bridge is connected, with the functions that the other side serves. */
  begin(names: readonly string[]): void;
  call(target: number, args: readonly unknown[], options?: WaitOptions): Promise<unknown>;
  send(target: number, args: readonly unknown[]): void;
  block(target: number, args: readonly unknown[], options?: WaitOptions): unknown;
  blockForAll(calls: readonly TargetedCall[], options?: WaitOptions): unknown[];
  /** Handles a message of the other endpoint. `isInFrame`: while a frame is being read. */
  receive(type: string, payload: unknown, isInFrame: boolean): void;
  /**
   * Called for an unreadable message of the other endpoint. Returns whether the call to which it belongs is known; then
   * only that call fails.
   */
  receiveUnreadable(cause: unknown, isInFrame: boolean): boolean;
  /** Handles all frames that the other side has sent, before the bridge is closed. */
  drain(): void;
  /** The reason for which the other side closes the bridge, if it gave one. */
  readonly otherReason: unknown;
  /** Sends the written frames, and this side's reason for closing the bridge, if any. */
  sendClose(reason: unknown): void;
  close(ending: Ending): void;
}
