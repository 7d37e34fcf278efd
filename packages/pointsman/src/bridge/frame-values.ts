/**
 * What a frame carries that has no bytes: references, and values that travel by message beside it. A number
 * stands for each.
 *
 * Invariant: a value that travels by message is posted before its frame is published, and both sides count
 * these values alike, so a number means the same value on both.
 */

import type { References } from '../transport/references.js';
import { isTransferred, type Transferred, transfer } from '../transport/transfer.js';
import type { ValueReferences } from './codec/value.js';

/** The lowest bit of a number says what it stands for. */
const BY_REFERENCE = 0;
const BY_MESSAGE = 1;

export class FrameValues implements ValueReferences {
  /** Whether the other side will read messages before it has read what is being written. */
  reachable = true;
  readonly #references: References;
  /** Of the frame that is being written: what it counts, and what travels beside it. */
  #passed: number[] = [];
  #moving: Transferred<unknown>[] = [];
  /** Of the frame that is being read: what it counts, and what of the arrivals it has used. */
  #received: number[] = [];
  #used: number[] = [];
  readonly #arrived = new Map<number, unknown>();
  #nextMoved = 1;
  #nextArrived = 1;

  constructor(references: References) {
    this.#references = references;
  }

  // --- writing ---

  numberOf(value: object): number {
    if (isTransferred(value)) {
      const known = this.#moving.indexOf(value);
      return this.#numberOfMoved(known < 0 ? this.#moving.push(value) - 1 : known);
    }
    const number = this.#references.numberOf(value, this.#passed);
    return number < 0 ? number : 2 * number + BY_REFERENCE;
  }

  numberByMessage(value: object): number {
    if (!this.reachable) return -1;
    const known = this.#moving.findIndex((moved) => moved.value === value);
    return this.#numberOfMoved(known < 0 ? this.#moving.push(transfer(value, [])) - 1 : known);
  }

  #numberOfMoved(index: number): number {
    return 2 * (this.#nextMoved + index) + BY_MESSAGE;
  }

  /** What is to be posted before the frame is published. */
  get moving(): readonly Transferred<unknown>[] {
    return this.#moving;
  }

  /** The frame has been published. */
  sent(): void {
    if (this.#moving.length > 0) {
      this.#nextMoved += this.#moving.length;
      this.#moving = [];
    }
    if (this.#passed.length === 0) return;
    const passed = this.#passed;
    this.#passed = [];
    this.#references.sent(passed);
  }

  /** The frame will not be sent. */
  undo(): void {
    this.#references.undo(this.#passed);
    this.#passed = [];
    this.#moving = [];
  }

  // --- reading ---

  valueOf(number: number): unknown {
    const id = Math.floor(number / 2);
    if (number % 2 === BY_REFERENCE) return this.#references.valueOf(id, this.#received);
    this.#used.push(id);
    return this.#arrived.get(id);
  }

  /** A value that travelled by message has come. */
  arrive(value: unknown): void {
    this.#arrived.set(this.#nextArrived++, value);
  }

  /** How many have come and are not used yet. */
  get arrivals(): number {
    return this.#arrived.size;
  }

  /** The frame has been read. */
  received(): void {
    if (this.#received.length > 0) this.#received = [];
    if (this.#used.length === 0) return;
    for (const id of this.#used) this.#arrived.delete(id);
    this.#used = [];
  }

  close(): void {
    this.#arrived.clear();
  }
}
