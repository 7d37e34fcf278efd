/**
 * How a thread that does not block handles frames: in turns of its event loop. When it has answered
 * somebody who may have the next call ready, it spins for that before it returns to the event loop; when it
 * expects answers of its own, it polls turn by turn, so that nothing else has to wait.
 *
 * Invariant: either this thread will look at the ring by itself, or whoever writes to it will wake this
 * thread.
 */

import { nextMicrotask } from '../sync/wait/give-up.js';
import { soon } from '../transport/event-loop.js';
import { platform } from '../transport/platform.js';
import { spinFor } from '../transport/spin.js';
import { WaitPolicy } from '../transport/wait-policy.js';
import type { FrameReader } from './frame-reader.js';
import type { FrameWriter } from './frame-writer.js';
import type { SharedState } from './shared-state.js';

/** What the poller asks of the endpoint whose frames it handles. */
export interface PolledEndpoint {
  /** Handles one frame; false if none is ready. */
  handleNext(): boolean;
  /** Whether answers are due. */
  readonly isExpecting: boolean;
}

/** Milliseconds that it works through frames before others get their turn: a page draws its frames meanwhile. */
const TURN = 4;
/** Milliseconds after which a sleeper is told of an answer: it does not wait for slow functions behind that one. */
const PROMPT = 0.2;

export class Poller {
  readonly #endpoint: PolledEndpoint;
  readonly #reader: FrameReader;
  readonly #writer: FrameWriter;
  readonly #state: SharedState;
  readonly #policy: WaitPolicy;
  /** The event loop will be woken when there is something to read. */
  #isSleeping = false;
  /** The ring's promise for that is pending; it outlives a blocking call. */
  #isArmed = false;
  #isPolling = false;
  /** When polling ends; 0 if it has only begun. */
  #pollsUntil = 0;
  #isHandling = false;
  #isStopped = false;
  /** When this turn of the event loop is over; 0 if no clock has been read in it. */
  #turnEnds = 0;
  /** Somebody has been answered who may have the next call ready at once. */
  #hasAnswered = false;
  /** A function has returned a promise, which does not settle while this thread spins. */
  #hasPromised = false;

  constructor(
    endpoint: PolledEndpoint,
    reader: FrameReader,
    writer: FrameWriter,
    state: SharedState,
    spins: boolean,
  ) {
    this.#endpoint = endpoint;
    this.#reader = reader;
    this.#writer = writer;
    this.#state = state;
    this.#policy = new WaitPolicy(spins);
    state.cost = this.#policy.cost;
  }

  /** A call of the other side has been answered at once. */
  answered(): void {
    this.#hasAnswered = true;
  }

  /** A call of the other side will be answered when a promise has settled. */
  promised(): void {
    this.#hasPromised = true;
  }

  /** That promise has settled, and the call has been answered in a turn of its own. */
  answeredLater(): void {
    this.#hasAnswered = true;
    if (this.#policy.bound > 0) nextMicrotask.then(() => this.#handle());
    else this.#writer.deliverSoon();
  }

  /** An answer is expected. */
  expect(): void {
    if (this.#isPolling) return;
    if (this.#policy.bound === 0) {
      this.attend();
      return;
    }
    this.#isPolling = true;
    this.#isSleeping = false;
    this.#reader.ring.awake();
    this.#pollsUntil = 0;
    soon(this.#poll);
  }

  readonly #poll = (): void => {
    const policy = this.#policy;
    const found = this.#reader.ring.ready;
    if (found) {
      policy.hit();
      this.pump();
    }
    const now = performance.now();
    if (found || this.#pollsUntil === 0) this.#pollsUntil = now + policy.bound;
    const goesOn = this.#endpoint.isExpecting && !this.#isStopped;
    if (goesOn && now < this.#pollsUntil) {
      soon(this.#poll);
      return;
    }
    this.#isPolling = false;
    if (goesOn) policy.missed();
    this.attend();
  };

  /** Sees that this thread is woken when there is something to read. */
  attend(): void {
    if (this.#isSleeping || this.#isHandling || this.#isPolling || this.#isStopped) return;
    const { ring } = this.#reader;
    this.#state.sleeps();
    if (this.#isArmed) {
      if (ring.sleepOn()) this.#isSleeping = true;
      else nextMicrotask.then(() => this.#handle());
      return;
    }
    const later = ring.later();
    if (later === undefined) {
      nextMicrotask.then(() => this.#handle());
      return;
    }
    this.#isSleeping = true;
    this.#isArmed = true;
    void later.then(() => {
      this.#isArmed = false;
      this.woken();
    });
  }

  /** The other side has woken this thread. */
  woken(): void {
    if (this.#isSleeping) this.#state.woke(this.#policy);
    this.pump();
  }

  /** A turn of the event loop begins in which frames may have come. */
  pump(): void {
    this.#turnEnds = 0;
    this.#handle();
  }

  #handle(): void {
    this.#isSleeping = false;
    if (this.#isHandling || this.#isStopped) return;
    const reader = this.#reader;
    this.#isHandling = true;
    reader.ring.awake();
    let isTurnOver = false;
    try {
      isTurnOver = this.#handleAll();
    } finally {
      this.#isHandling = false;
      if (this.#isStopped) {
        // Nothing will come.
      } else if (reader.isPaused ? platform.receive : isTurnOver) {
        soon(() => this.pump());
      } else if (!reader.isPaused) {
        this.attend();
      }
    }
  }

  /**
   * Handles what there is, and what comes while it spins. Whether the turn is over. A single call, the
   * commonest case, reads the clock once: clocks are slow in browsers.
   */
  #handleAll(): boolean {
    const endpoint = this.#endpoint;
    const reader = this.#reader;
    const writer = this.#writer;
    const policy = this.#policy;
    const { ring } = reader;
    let told = 0;
    let handled = 0;
    this.#hasPromised = false;
    for (;;) {
      while (endpoint.handleNext()) {
        const otherSleeps = writer.ring.readerAsleep;
        if ((!otherSleeps && (++handled & 3) !== 0) || !ring.ready) continue;
        const now = performance.now();
        told ||= now;
        if (otherSleeps && now - told > PROMPT) {
          writer.deliver();
          told = now;
        }
        if (this.#isTurnOver(now)) {
          writer.deliver();
          return true;
        }
      }
      writer.deliver();
      if (!this.#hasAnswered || this.#hasPromised || this.#isStopped) return false;
      if (reader.isPaused || writer.isHeldUp) return false;
      const { bound } = policy;
      if (bound === 0) return false;
      const now = performance.now();
      if (this.#isTurnOver(now)) return true;
      // Who sleeps has to be woken twice: this thread for the call, and the other for the answer.
      if (!spinFor(ring, bound + this.#state.otherCost)) {
        this.#hasAnswered = false;
        policy.missed();
        return false;
      }
      policy.hit();
    }
  }

  #isTurnOver(now: number): boolean {
    this.#turnEnds ||= now + TURN;
    return now > this.#turnEnds;
  }

  /** This thread is about to block, and looks at the ring by itself. */
  leave(): void {
    if (this.#isSleeping) this.#reader.ring.awake();
  }

  /** It does not block any more. */
  resume(): void {
    if (!this.#isSleeping) return;
    this.#state.sleeps();
    if (!this.#reader.ring.sleepOn()) nextMicrotask.then(() => this.#handle());
  }

  stop(): void {
    this.#isStopped = true;
    this.#reader.ring.stop();
  }
}
