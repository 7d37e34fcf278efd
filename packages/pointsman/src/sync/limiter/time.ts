/**
 * The time of a limiter, and its one timer.
 *
 * The time advances with the clock and with the timer: a timer that fires is evidence that its delay has passed, even
 * if the clock stands still. So a limiter works under fake timers that fake only some of the platform's clocks.
 *
 * Invariants:
 * - `now` never goes back. A clock that goes back has been set or replaced: the time continues from `now`.
 * - With a monotonic clock, and timers that fire at most `EARLY` ms early by it, `now` is at most the time of that
 *   clock. So the guarantees of the limiter hold in the time of that clock.
 * - The caller of `arm` has called `isAhead` or `read` just before, so the delay counts from the present.
 */

import { LONGEST_TIMER } from '../wait/give-up.js';
import type { ReplaceableClock } from './clock.js';

/** By how many milliseconds a timer may fire early: platforms count in whole milliseconds, and from a cached time. */
const EARLY = 2;

/** The milliseconds that `now` advances when fake timers were installed or removed, so that earlier starts are forgotten. */
const ERA = 2 ** 32;

export class Time {
  /** Whether a rate or a penalty uses the time, or ever did. Until then the clock is not read. */
  usesTime = false;
  /** The last known time. */
  now = -Infinity;
  readonly #clock: ReplaceableClock;
  readonly #passed: () => void;
  /** Added to the clock's time. */
  #offset = 0;
  /** The pending timer. Its callback compares itself with this field, so a timer that could not be cleared has no effect. */
  #timer: { readonly era: unknown; handle?: unknown } | undefined;
  #at = 0;
  #holding = false;
  /** The clock's era when its time was last seen to jump. */
  #era: unknown;
  /** The number of timers in a row that fired early for the same moment. */
  #early = 0;

  constructor(clock: ReplaceableClock, passed: () => void) {
    this.#clock = clock;
    this.#era = clock.era;
    this.#passed = passed;
  }

  get armed(): boolean {
    return this.#timer !== undefined;
  }

  /** Whether the clock was replaced after the timer was set, so that the timer may never fire. */
  get isLost(): boolean {
    return this.#timer !== undefined && this.#timer.era !== this.#clock.era;
  }

  /** Reads the clock if the time is used, and returns `now`. */
  read(): number {
    if (this.usesTime) {
      const now = this.#clock.now() + this.#offset;
      // The common case. A clock that has been replaced goes back, or ahead by more.
      if (now >= this.now && now < this.now + 1) this.now = now;
      else this.#jump(now);
    }
    return this.now;
  }

  #jump(now: number): void {
    const { era } = this.#clock;
    if (now < this.now) {
      if (era !== this.#era) this.now += ERA;
      this.#offset += this.now - now;
    } else {
      this.now = now;
    }
    this.#era = era;
  }

  /** Whether this moment is ahead. Reads the clock only if the last known time does not decide it. */
  isAhead(at: number): boolean {
    return at > this.now && (at === Infinity || at > this.read());
  }

  /** Sets the timer to this moment, or leaves it at an earlier one. `holding`: whether it keeps the process alive. */
  arm(at: number, holding: boolean): void {
    if (this.#timer !== undefined) {
      const { isLost } = this;
      // Fake timers may have discarded a timer that is overdue.
      const isAlive = !isLost && this.#at > this.now;
      if (isAlive && this.#at <= at && at < Infinity && this.#holding === holding) return;
      if (!isLost) this.#clock.clearTimeout(this.#timer.handle);
      this.#timer = undefined;
    }
    if (at === Infinity) return;
    const delay = Math.min(Math.ceil(at - this.now), LONGEST_TIMER);
    if (at !== this.#at) this.#early = 0;
    this.#at = Math.min(at, this.now + delay);
    this.#holding = holding;
    const timer: { readonly era: unknown; handle?: unknown } = { era: this.#clock.era };
    this.#timer = timer;
    timer.handle = this.#clock.setTimeout(() => {
      if (this.#timer === timer) this.#fire();
    }, delay);
    // To forget a key is no reason to keep the process alive.
    if (!holding) (timer.handle as { unref?(): void } | undefined)?.unref?.();
  }

  #fire(): void {
    this.#timer = undefined;
    const missing = this.#at - this.read();
    this.#early = missing > 0 ? this.#early + 1 : 0;
    // A timer that counts in whole milliseconds from a cached time fires less than `EARLY` ms early, and two further
    // timers of at least a millisecond each make up for that. Beyond that, the timers do not follow this clock.
    if (missing >= EARLY || this.#early > 2) {
      this.#offset += missing;
      this.now = this.#at;
    }
    this.#passed();
  }
}
