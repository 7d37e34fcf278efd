const { timeOrigin } = performance;

/** Milliseconds, by a clock that all threads of the program share. */
export function now(): number {
  return timeOrigin + performance.now();
}
