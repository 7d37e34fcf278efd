/** The clock of a limiter: the platform's, or one that a user gives. */

/** A source of time: the platform's, a fake one of a test, or that of a simulation. */
export interface Clock {
  /**
   * The number of milliseconds since some moment. When it goes back, the limiter counts on from the time that it had
   * reached.
   */
  now(): number;
  /**
   * Calls back after this many milliseconds, and returns what `clearTimeout` takes. That the timer fires is evidence
   * that they have passed, also where `now` stands still.
   */
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** A clock that may be replaced by fake timers while a limiter lives. */
export interface ReplaceableClock extends Clock {
  /** Changes when it has been replaced: then a timer that was set before may never fire. */
  readonly era?: unknown;
}

const platform = { Date, setTimeout };

/** The platform's. Its functions are looked up when they are called, so that fake timers are seen. */
export const systemClock: ReplaceableClock = {
  // Some fake timers, as those of `node:test`, have a `Date` and no `performance`.
  now: () =>
    Date === platform.Date || setTimeout === platform.setTimeout ? performance.now() : Date.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
  get era() {
    return setTimeout;
  },
};
