/**
 * State in shared memory that both sides of a bridge read without messages: whether the bridge is closed, the cost of a
 * wake-up for each side, when each was last woken, and the thread for which each side is blocked by another bridge.
 *
 * Invariant: each word is written by one side only, with two exceptions. Either side may set CLOSED, which is never
 * reset. The sleeper requests the time of its wake-up, and the waker writes it.
 */

import { now } from '../transport/clock.js';
import { randomId } from '../transport/random-id.js';
import type { WaitPolicy } from '../transport/wait-policy.js';

/** Indices of 4-byte words. */
const CLOSED = 0;
/** The host's word; the worker's is the next. The same holds for WAITS_FOR and COST. */
const THREAD = 2;
const WAITS_FOR = 4;
const COST = 6;
/** Index of the host's 8-byte wake-up time. The worker's follows on its own cache line. */
const WOKEN = 8;
const CACHE_LINE = 8;
/** Values instead of a time: the sleeper requests the time of its wake-up, or does not. */
const REQUESTED = 0;
const NOT_REQUESTED = -1;
/** One sleep in this many is measured, a power of two. More clock reads slow the lab's rows `one core busy`. */
const SAMPLE = 8;
export const STATE_SIZE = 8 * (WOKEN + 2 * CACHE_LINE);

export type Role = 'host' | 'worker';

/** Identifies this thread to other threads. */
const thisThread = randomId();

/** The states of all open bridges of this thread. A call that blocks over one of them delays all. */
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

  // --- the cost of wake-ups ---

  /** Called before this side wakes the other. The first wake-up of a sleep counts. */
  beforeWake(): void {
    const at = WOKEN + this.#other * CACHE_LINE;
    if (this.#times[at] === REQUESTED) this.#times[at] = now();
  }

  beforeSleep(): void {
    const isMeasured = (++this.#sleeps & (SAMPLE - 1)) === 0;
    this.#times[WOKEN + this.#mine * CACHE_LINE] = isMeasured ? REQUESTED : NOT_REQUESTED;
  }

  /** If the sleep was measured, reports its cost to the policy and the other side. */
  afterSleep(policy: WaitPolicy): void {
    const at = WOKEN + this.#mine * CACHE_LINE;
    const woken = this.#times[at] as number;
    this.#times[at] = NOT_REQUESTED;
    // The clocks of two threads may differ slightly.
    policy.woke(woken <= REQUESTED ? undefined : Math.max(0, now() - woken));
    this.cost = policy.cost;
  }

  /** The cost of a wake-up, in milliseconds. */
  set cost(milliseconds: number) {
    this.#words[COST + this.#mine] = 1_000 * milliseconds;
  }

  get otherCost(): number {
    return (this.#words[COST + this.#other] as number) / 1_000;
  }

  // --- detection of mutual waits ---

  /** Called before this thread blocks for the other side. This thread's other bridges then show for which thread. */
  block(): void {
    this.#publishWait(Atomics.load(this.#words, THREAD + this.#other));
  }

  unblock(): void {
    this.#publishWait(0);
  }

  #publishWait(thread: number): void {
    for (const state of states) {
      if (state !== this) Atomics.store(state.#words, WAITS_FOR + state.#mine, thread);
    }
  }

  get otherWaitsForThis(): boolean {
    return Atomics.load(this.#words, WAITS_FOR + this.#other) === thisThread;
  }
}
