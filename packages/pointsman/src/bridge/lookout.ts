/**
 * How a thread that does not block waits for answers: asleep until it is woken, or looking for them turn
 * by turn of its event loop, so that nothing else has to wait.
 *
 * A wake-up costs whoever gives it and whoever gets it up to a tenth of a millisecond where idle cores
 * sleep, so for short calls it pays to look for a moment; for long ones, or on a busy machine, it does
 * not. The policy measures that.
 *
 * Invariant: as long as answers are due, either it looks or all sides will be woken.
 */

import { soon } from '../transport/event-loop.js';
import type { WaitPolicy } from '../transport/wait-policy.js';

/** What it looks at. */
export interface Watched {
  /** Somebody else looks for frames. */
  watched: boolean;
  /** Handles the frames that have come; whether there were any. */
  pumpIfReady(): boolean;
  /** Sees that it is woken when there are frames. */
  attend(): void;
}

/** Milliseconds between looks that nobody has asked for: at first, and at most. */
const SOON = 1;
const LATE = 1_000;

export class Lookout {
  readonly #sides = new Set<Watched>();
  readonly #policy: WaitPolicy;
  readonly #isBusy: () => boolean;
  #looking = false;
  #until = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Milliseconds until it looks again by itself. */
  #interval = SOON;

  /** `isBusy` says whether answers are due. */
  constructor(policy: WaitPolicy, isBusy: () => boolean) {
    this.#policy = policy;
    this.#isBusy = isBusy;
  }

  add(side: Watched): void {
    this.#sides.add(side);
    side.watched = this.#looking;
  }

  delete(side: Watched): void {
    this.#sides.delete(side);
  }

  /** A call was made. */
  expect(): void {
    this.#policy.begin();
    if (this.#looking || this.#policy.current.spin === 0) return;
    this.#looking = true;
    for (const side of this.#sides) side.watched = true;
    this.#until = 0;
    soon(this.#look);
  }

  /**
   * Looks now and then, as long as answers are due. Whoever carries out several calls wakes this thread once
   * for all of them; when one takes long, the answers before it would wait for it.
   */
  patrol(): void {
    this.#interval = SOON;
    if (this.#timer === undefined) this.#lookLater();
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#interval = this.#pump() ? SOON : Math.min(2 * this.#interval, LATE);
      if (this.#isBusy()) this.#lookLater();
    }, this.#interval);
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** Handles what has come; whether there was anything. */
  #pump(): boolean {
    let found = false;
    for (const side of this.#sides) if (side.pumpIfReady()) found = true;
    return found;
  }

  readonly #look = (): void => {
    const found = this.#pump();
    const { spin } = this.#policy.current;
    const now = performance.now();
    if (found || this.#until === 0) this.#until = now + spin / 1_000;
    const isBusy = this.#isBusy();
    if (isBusy && now < this.#until) {
      soon(this.#look);
      return;
    }
    this.#looking = false;
    if (isBusy) this.#policy.slept();
    for (const side of this.#sides) {
      side.watched = false;
      side.attend();
    }
  };
}
