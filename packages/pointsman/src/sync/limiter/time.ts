/**
 * What time it is for a limiter, and its one timer.
 *
 * Invariant: the time that is known never goes back, and is that of the clock or an older one. What has come by an old
 * time has come. What has not is ahead only if the clock says so as well: whoever sets the timer has asked
 * `isAhead` or `read` just before, so the timer counts from now.
 */

import { LONGEST_TIMER } from '../give-up.js';
import type { Clock } from './clock.js';

export class Time {
  /** Whether time matters, or ever has. As long as it does not, no clock is read. */
  matters = false;
  /** The time that is known. */
  now = -Infinity;
  readonly #clock: Clock;
  readonly #passed: () => void;
  #timer: unknown;
  #at = 0;
  /** Whether the timer keeps the process alive. */
  #holding = false;

  /** `passed` is called when the timer has fired. */
  constructor(clock: Clock, passed: () => void) {
    this.#clock = clock;
    this.#passed = passed;
  }

  /** Whether the timer is set. */
  get armed(): boolean {
    return this.#timer !== undefined;
  }

  /** The time as it is now; any while it does not matter. */
  read(): number {
    if (this.matters) this.now = Math.max(this.now, this.#clock.now());
    return this.now;
  }

  /** Whether this moment is still to come. The clock is read only if that is not known. */
  isAhead(at: number): boolean {
    return at > this.now && (at === Infinity || at > this.read());
  }

  /** Sees to it that the timer fires at this moment, or a little earlier. */
  arm(at: number, holding: boolean): void {
    if (this.#timer !== undefined) {
      if (this.#at <= at && at < Infinity && this.#holding === holding) return;
      this.#clock.clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (at === Infinity) return;
    this.#at = at;
    this.#holding = holding;
    this.#timer = this.#clock.setTimeout(
      () => {
        this.#timer = undefined;
        this.#passed();
      },
      Math.min(Math.ceil(at - this.now), LONGEST_TIMER),
    );
    // It need not keep a process alive only to forget a key.
    if (!holding) (this.#timer as { unref?(): void } | undefined)?.unref?.();
  }
}
