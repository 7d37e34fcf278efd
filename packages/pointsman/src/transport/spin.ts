/** Looking again and again, without sleeping, whether another thread has said something. */

/** So many looks before one at the clock, a power of two: most waits end before the first. */
const POLLS = 32;

const pause: (() => void) | undefined = (Atomics as { pause?: () => void }).pause;

/** Spins until there is something to read, at most so many milliseconds; whether there is. */
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
