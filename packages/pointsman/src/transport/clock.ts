import { nextMicrotask } from '../sync/wait/give-up.js';

const { timeOrigin } = performance;

/** Milliseconds, by a clock that all threads of the program share. */
export function now(): number {
  return timeOrigin + performance.now();
}

let time = 0;

/** The same, read once in each turn. */
export function turnTime(): number {
  if (time === 0) {
    time = now();
    nextMicrotask.then(() => {
      time = 0;
    });
  }
  return time;
}
