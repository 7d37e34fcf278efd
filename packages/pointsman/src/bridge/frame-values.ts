/**
 * The parts of a frame that are not bytes: references, and values that are sent by message. The frame contains a number
 * for each.
 *
 * Invariant: the values of a frame are posted in one message before the frame is published. So the first unused message
 * belongs to the next frame that has values.
 */

import { DataCloneError, Refused } from '../transport/clone-errors.js';
import type { References } from '../transport/references.js';
import { isDetached } from '../transport/survey.js';
import { isTransferred, type Transferred, transfer } from '../transport/transfer.js';
import type { ValueReferences } from './codec/value.js';

/** The lowest bit of a number is its kind. */
const BY_REFERENCE = 0;
const BY_MESSAGE = 1;

export class FrameValues implements ValueReferences {
  /** Whether the other side can receive messages before it reads the frame that is being written. */
  reachable = true;
  readonly #references: References;
  /** References and values of the frame that is being written. */
  #passed = new Set<number>();
  #outgoing: Transferred<unknown>[] = [];
  /** References and values of the frame that is being read. */
  #received = new Set<number>();
  #values: readonly unknown[] = [];
  /** Received messages that belong to later frames. */
  #arrived: (readonly unknown[] | DataCloneError)[] = [];
  /** Why the values of the current frame are unreadable. */
  failure: DataCloneError | undefined;

  constructor(references: References) {
    this.#references = references;
  }

  // --- writing ---

  numberOf(value: object): number {
    if (isTransferred(value)) {
      if (value.list.some(isDetached)) throw new Refused(value, 'a buffer that was moved before');
      const known = this.#outgoing.indexOf(value);
      return this.#numberOfOutgoing(known < 0 ? this.#outgoing.push(value) - 1 : known);
    }
    const number = this.#references.numberOf(value, this.#passed);
    return number < 0 ? number : 2 * number + BY_REFERENCE;
  }

  numberByMessage(value: object): number {
    if (!this.reachable) return -1;
    const known = this.#outgoing.findIndex((moved) => moved.value === value);
    return this.#numberOfOutgoing(known < 0 ? this.#outgoing.push(transfer(value, [])) - 1 : known);
  }

  #numberOfOutgoing(index: number): number {
    return 2 * index + BY_MESSAGE;
  }

  get outgoing(): readonly Transferred<unknown>[] {
    return this.#outgoing;
  }

  sent(): void {
    if (this.#outgoing.length > 0) this.#outgoing = [];
    if (this.#passed.size === 0) return;
    const passed = this.#passed;
    this.#passed = new Set();
    this.#references.sent(passed);
  }

  undo(): void {
    this.#references.undo(this.#passed);
    this.#passed = new Set();
    this.#outgoing = [];
  }

  // --- reading ---

  valueOf(number: number): unknown {
    const id = Math.floor(number / 2);
    if (number % 2 === BY_REFERENCE) return this.#references.valueOf(id, this.#received);
    return this.#values[id];
  }

  arrive(values: readonly unknown[]): void {
    this.#arrived.push(values);
  }

  arriveUnreadable(cause: unknown): void {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    const message = `a value that was sent by message cannot be read in this thread${reason}`;
    this.#arrived.push(new DataCloneError(message, { cause }));
  }

  /** Takes the values of the frame that is about to be read. Returns whether they have arrived. */
  take(): boolean {
    const first = this.#arrived.shift();
    if (first === undefined) return false;
    if (first instanceof DataCloneError) this.failure = first;
    else this.#values = first;
    return true;
  }

  received(): void {
    if (this.#received.size > 0) this.#received = new Set();
    if (this.#values.length > 0) this.#values = [];
    this.failure = undefined;
  }

  close(): void {
    this.#arrived = [];
  }
}
