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
    queueMicrotask(() => {
      time = 0;
    });
  }
  return time;
}
