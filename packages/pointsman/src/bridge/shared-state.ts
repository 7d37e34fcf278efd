/**
 * What both sides of a bridge know of each other without a message: whether it is closed, what a wake-up
 * costs each of them, when each was last woken, and for which thread each of them waits.
 *
 * Invariant: each word has one side that writes it, but for the news that the bridge is closed, which is never
 * taken back, and the time of a wake-up, which the sleeper asks for and the waker fills in.
 */

import { now } from '../transport/clock.js';
import { randomId } from '../transport/random-id.js';
import type { WaitPolicy } from '../transport/wait-policy.js';

/** Words of 4 bytes. */
const CLOSED = 0;
/** Of the host; the worker's follow. */
const THREAD = 2;
const WAITS_FOR = 4;
const COST = 6;
/** Of 8 bytes, on cache lines of their own. */
const WOKEN = 8;
const LINE = 8;
/** What stands there in place of a time: the sleeper wants to know when it was woken, or does not. */
const ASKED = 0;
const NOT_ASKED = -1;
/** One sleep of so many is measured, a power of two: the clocks would cost the rows `one core busy`. */
const SAMPLE = 8;
/** Bytes. */
export const STATE_SIZE = 8 * (WOKEN + 2 * LINE);

export type Role = 'host' | 'worker';

/** This thread, as other threads of the program know it. */
const thisThread = randomId();

/** Of all bridges of this thread: who blocks for one keeps the others waiting. */
const states = new Set<SharedState>();

export class SharedState {
  readonly #words: Int32Array;
  readonly #times: Float64Array;
  readonly #mine: number;
  readonly #other: number;
  #sleeps = 0;

  constructor(buffer: SharedArrayBuffer, role: Role) {
    this.#words = new Int32Array(buffer, 0, STATE_SIZE / 4);
    this.#times = new Float64Array(buffer, 0, STATE_SIZE / 8);
    this.#mine = role === 'host' ? 0 : 1;
    this.#other = 1 - this.#mine;
    Atomics.store(this.#words, THREAD + this.#mine, thisThread);
    states.add(this);
  }

  get isClosed(): boolean {
    return Atomics.load(this.#words, CLOSED) === 1;
  }

  close(): void {
    Atomics.store(this.#words, CLOSED, 1);
    states.delete(this);
  }

  // --- what wake-ups cost ---

  /** This side is about to wake the other. The first of several counts. */
  wakes(): void {
    const at = WOKEN + this.#other * LINE;
    if (this.#times[at] === ASKED) this.#times[at] = now();
  }

  /** This side is about to sleep. */
  sleeps(): void {
    const asks = (++this.#sleeps & (SAMPLE - 1)) === 0;
    this.#times[WOKEN + this.#mine * LINE] = asks ? ASKED : NOT_ASKED;
  }

  /** This side has slept: if that sleep was measured, the policy and the other side learn what its end has cost. */
  woke(policy: WaitPolicy): void {
    const at = WOKEN + this.#mine * LINE;
    const woken = this.#times[at] as number;
    this.#times[at] = NOT_ASKED;
    // The clocks of two threads may differ by a little.
    policy.woke(woken <= ASKED ? undefined : Math.max(0, now() - woken));
    this.cost = policy.cost;
  }

  /** Tells the other side what a wake-up costs this one, in milliseconds. */
  set cost(milliseconds: number) {
    this.#words[COST + this.#mine] = 1_000 * milliseconds;
  }

  /** Milliseconds that a wake-up costs the other side. */
  get otherCost(): number {
    return (this.#words[COST + this.#other] as number) / 1_000;
  }

  // --- who waits for whom ---

  /** This thread blocks until the other side answers. Its other bridges learn for whom they wait. */
  block(): void {
    this.#tellOthers(Atomics.load(this.#words, THREAD + this.#other));
  }

  unblock(): void {
    this.#tellOthers(0);
  }

  #tellOthers(thread: number): void {
    for (const state of states) {
      if (state !== this) Atomics.store(state.#words, WAITS_FOR + state.#mine, thread);
    }
  }

  get otherWaitsForThis(): boolean {
    return Atomics.load(this.#words, WAITS_FOR + this.#other) === thisThread;
  }
}
