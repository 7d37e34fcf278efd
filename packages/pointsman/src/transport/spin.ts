/** Busy waiting for another thread. */

/** Polls between two reads of the clock, a power of two. Most waits end before the first read. */
const POLLS = 32;

const pause: (() => void) | undefined = (Atomics as { pause?: () => void }).pause;

/** Spins until the source is ready, for at most `milliseconds`. Returns whether it is ready. */
export function spinFor(source: { readonly ready: boolean }, milliseconds: number): boolean {
  let until = 0;
  for (let polls = 1; ; polls++) {
    if (source.ready) return true;
    pause?.();
    if ((polls & (POLLS - 1)) !== 0) continue;
    const now = performance.now();
    until ||= now + milliseconds;
    if (now >= until) return false;
  }
}
