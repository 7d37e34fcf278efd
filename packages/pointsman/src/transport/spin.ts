/** Busy waiting for another thread. */

import type { WaitPolicy } from './wait-policy.js';

/** Polls between two reads of the clock, a power of two. Most waits end before the first read. */
const POLLS = 32;

const pause: (() => void) | undefined = (Atomics as { pause?: () => void }).pause;

/**
 * Spins until the source is ready, for at most `milliseconds`, and reports the outcome to the policy. Returns whether the
 * source is ready.
 *
 * Not reported if the source is ready at once: see {@link WaitPolicy.hit}.
 */
export function spinFor(
  source: { readonly ready: boolean },
  milliseconds: number,
  policy: WaitPolicy,
): boolean {
  if (milliseconds === 0 || source.ready) return source.ready;
  let until = 0;
  for (let polls = 1; ; polls++) {
    pause?.();
    if (source.ready) {
      policy.hit();
      return true;
    }
    if ((polls & (POLLS - 1)) !== 0) continue;
    const now = performance.now();
    until ||= now + milliseconds;
    if (now >= until) {
      policy.missed();
      return false;
    }
  }
}
