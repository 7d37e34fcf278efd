/**
 * Handles frames in turns of the event loop. After a reply, this thread spins for the next call. While it waits for
 * replies of its own, it polls once per turn, so other tasks run between polls.
 *
 * Invariant: either this thread will check the ring by itself, or the writer of the next frame will wake it.
 */

import { nextMicrotask } from '../sync/wait/give-up.js';
import { soon } from '../transport/event-loop.js';
import { platform } from '../transport/platform.js';
import { spinFor } from '../transport/spin.js';
import { WaitPolicy } from '../transport/wait-policy.js';
import type { FrameReader } from './frame-reader.js';
import type { FrameWriter } from './frame-writer.js';
import type { SharedState } from './shared-state.js';

export interface PolledEndpoint {
  /** Handles one frame. Returns false if none is ready. */
  handleNext(): boolean;
  readonly expectsReplies: boolean;
}

/** Maximum milliseconds of handling frames before other tasks run, such as the rendering of a page. */
const MAX_TURN = 4;
/** Milliseconds after which a sleeping caller is woken, so its reply does not wait for slow functions behind it. */
const MAX_WAKE_DELAY = 0.2;

export class Poller {
  readonly #endpoint: PolledEndpoint;
  readonly #reader: FrameReader;
  readonly #writer: FrameWriter;
  readonly #state: SharedState;
  readonly #policy: WaitPolicy;
  /** Whether the writer of the next frame will wake the event loop. */
  #isSleeping = false;
  /** Whether the ring's promise for that is pending; it may outlive a blocking call. */
  #isArmed = false;
  #isPolling = false;
  /** When polling ends; 0 before the first poll. */
  #pollsUntil = 0;
  #isHandling = false;
  #isStopped = false;
  /** When this turn of the event loop ends; 0 if the clock has not been read in it. */
  #turnEnds = 0;
  /** Whether a call was answered; its caller may make the next call at once. */
  #hasAnswered = false;
  /** Whether a function has returned a promise, which cannot settle while this thread spins. */
  #hasDeferred = false;

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

  answered(): void {
    this.#hasAnswered = true;
  }

  deferred(): void {
    this.#hasDeferred = true;
  }

  /** Called when the promise of a deferred call has settled and the reply is written. */
  answeredLater(): void {
    this.#hasAnswered = true;
    if (this.#policy.bound > 0) nextMicrotask.then(() => this.#handle());
    else this.#writer.deliverSoon();
  }

  expectReply(): void {
    if (this.#isPolling) return;
    if (this.#policy.bound === 0) {
      this.armWakeup();
      return;
    }
    this.#isPolling = true;
    this.#isSleeping = false;
    this.#reader.ring.markAwake();
    this.#pollsUntil = 0;
    soon(this.#poll);
  }

  readonly #poll = (): void => {
    const policy = this.#policy;
    const found = this.#reader.ring.ready;
    if (found) {
      if (this.#pollsUntil !== 0) policy.hit();
      this.pump();
    }
    const now = performance.now();
    if (found || this.#pollsUntil === 0) this.#pollsUntil = now + policy.bound;
    const goesOn = this.#endpoint.expectsReplies && !this.#isStopped;
    if (goesOn && now < this.#pollsUntil) {
      soon(this.#poll);
      return;
    }
    this.#isPolling = false;
    if (goesOn) policy.missed();
    this.armWakeup();
  };

  /** Ensures that this thread is woken when a frame is ready. */
  armWakeup(): void {
    if (this.#isSleeping || this.#isHandling || this.#isPolling || this.#isStopped) return;
    const { ring } = this.#reader;
    this.#state.beforeSleep();
    if (this.#isArmed) {
      if (ring.resumeSleep()) this.#isSleeping = true;
      else nextMicrotask.then(() => this.#handle());
      return;
    }
    const later = ring.waitAsync();
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

  woken(): void {
    if (this.#isSleeping) this.#state.afterSleep(this.#policy);
    this.pump();
  }

  pump(): void {
    this.#turnEnds = 0;
    this.#handle();
  }

  #handle(): void {
    this.#isSleeping = false;
    if (this.#isHandling || this.#isStopped) return;
    const reader = this.#reader;
    this.#isHandling = true;
    reader.ring.markAwake();
    let isTurnOver = false;
    try {
      isTurnOver = this.#handleAll();
    } finally {
      this.#isHandling = false;
      if (!this.#isStopped) {
        if (reader.isPaused ? platform.receive : isTurnOver) soon(() => this.pump());
        else if (!reader.isPaused) this.armWakeup();
      }
    }
  }

  /**
   * Handles all ready frames, and those that arrive while it spins. Returns whether the turn is over. A single call,
   * the most common case, reads the clock only once, because clocks are slow in browsers.
   */
  #handleAll(): boolean {
    const endpoint = this.#endpoint;
    const reader = this.#reader;
    const writer = this.#writer;
    const policy = this.#policy;
    const { ring } = reader;
    let deliveredAt = 0;
    let handled = 0;
    this.#hasDeferred = false;
    for (;;) {
      while (endpoint.handleNext()) {
        const otherSleeps = writer.ring.readerAsleep;
        if ((!otherSleeps && (++handled & 3) !== 0) || !ring.ready) continue;
        const now = performance.now();
        deliveredAt ||= now;
        if (otherSleeps && now - deliveredAt > MAX_WAKE_DELAY) {
          writer.deliver();
          deliveredAt = now;
        }
        if (this.#isTurnOver(now)) {
          writer.deliver();
          return true;
        }
      }
      writer.deliver();
      if (!this.#hasAnswered || this.#hasDeferred || this.#isStopped) return false;
      if (reader.isPaused || writer.isWaitingForSpace) return false;
      const { bound } = policy;
      if (bound === 0) return false;
      const now = performance.now();
      if (this.#isTurnOver(now)) return true;
      // A sleep costs two wake-ups: this thread's for the call, and the other's for the reply.
      if (!spinFor(ring, bound + this.#state.otherCost, policy)) {
        this.#hasAnswered = false;
        return false;
      }
    }
  }

  #isTurnOver(now: number): boolean {
    this.#turnEnds ||= now + MAX_TURN;
    return now > this.#turnEnds;
  }

  /** Called before this thread blocks; it then checks the ring by itself. */
  pause(): void {
    if (this.#isSleeping) this.#reader.ring.markAwake();
  }

  resume(): void {
    if (!this.#isSleeping) return;
    this.#state.beforeSleep();
    if (!this.#reader.ring.resumeSleep()) nextMicrotask.then(() => this.#handle());
  }

  stop(): void {
    this.#isStopped = true;
    this.#reader.ring.stop();
  }
}
