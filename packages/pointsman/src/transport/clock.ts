import { nextMicrotask } from '../sync/wait/give-up.js';

const { timeOrigin } = performance;

/** Returns the time in milliseconds, by a clock that all threads of the process share. */
export function now(): number {
  return timeOrigin + performance.now();
}

let time = 0;

/** As {@link now}, but the clock is read only once until the pending microtasks have run. */
export function turnTime(): number {
  if (time === 0) {
    time = now();
    nextMicrotask.then(() => {
      time = 0;
    });
  }
  return time;
}
