/** Where a limiter has its time from. */

/** A source of time: the platform's, a fake one of a test, or that of a simulation. */
export interface Clock {
  /** How many milliseconds have passed since whatever moment. A clock that goes back is taken to stand still. */
  now(): number;
  /** Calls back after so many milliseconds, and answers with what `clearTimeout` takes. */
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** The platform's. They are looked up when they are called, so that fake timers are seen. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
};
