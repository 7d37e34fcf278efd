/** The clock of a limiter: the platform's, or one that the user provides. */

/** A source of time: the platform's, a fake one of a test, or that of a simulation. */
export interface Clock {
  /**
   * Returns the milliseconds since a fixed moment. If the clock goes back, the limiter continues from the time that it
   * had reached.
   */
  now(): number;
  /**
   * Calls back after this many milliseconds, and returns the argument for `clearTimeout`. A timer that fires is evidence
   * that its delay has passed, even if `now` stands still.
   */
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** A clock that may be replaced by fake timers while a limiter lives. */
export interface ReplaceableClock extends Clock {
  /** Changes when the clock is replaced: a timer that was set before may then never fire. */
  readonly era?: unknown;
}

const platform = { Date, setTimeout };

/** The platform's clock. Looks its functions up at each call, so that it sees fake timers. */
export const systemClock: ReplaceableClock = {
  // Some fake timers, such as those of `node:test`, fake `Date` but not `performance`.
  now: () =>
    Date === platform.Date || setTimeout === platform.setTimeout ? performance.now() : Date.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
  get era() {
    return setTimeout;
  },
};
