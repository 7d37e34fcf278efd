/**
 * How each of two threads sees, without a return to its event loop, that the other has posted a message:
 * a count of messages in shared memory, and when the last of them was posted.
 *
 * Invariant: a message is counted after it was posted, so one that is counted can be received. The event
 * loop may receive it before it is counted.
 */

import { now } from '../transport/clock.js';

/** Bytes for each direction: a cache line of its own for the count, with the time beside it. */
const DIRECTION = 64;
const POSTED = 0;
const TIME = 1;

/**
 * Milliseconds: only for tasks that are shorter does either side spin for the next message. Longer ones hide
 * a wake-up, or have no need of it. Rows: empty, 1 in flight; 100 us, 4 in flight.
 */
export const WORTH_SPINNING = 0.02;

export class Mailbox {
  static readonly BYTES = 2 * DIRECTION;
  readonly #words: Int32Array;
  readonly #times: Float64Array;
  readonly #out: number;
  readonly #in: number;
  #received = 0;

  constructor(memory: SharedArrayBuffer, offset: number, role: 'host' | 'worker') {
    this.#words = new Int32Array(memory, offset, Mailbox.BYTES / 4);
    this.#times = new Float64Array(memory, offset, Mailbox.BYTES / 8);
    this.#out = role === 'host' ? 0 : 1;
    this.#in = 1 - this.#out;
  }

  /** A message was posted to the other side. */
  posted(): void {
    this.#times[(this.#out * DIRECTION) / 8 + TIME] = now();
    Atomics.add(this.#words, (this.#out * DIRECTION) / 4 + POSTED, 1);
  }

  /** A message of the other side was received, whichever way. */
  received(): void {
    this.#received = (this.#received + 1) | 0;
  }

  /** Whether there is a message to be received. */
  get ready(): boolean {
    const posted = Atomics.load(this.#words, (this.#in * DIRECTION) / 4 + POSTED);
    return ((posted - this.#received) | 0) > 0;
  }

  /** Milliseconds since the other side has posted its last message. */
  get age(): number {
    return now() - (this.#times[(this.#in * DIRECTION) / 8 + TIME] as number);
  }
}
