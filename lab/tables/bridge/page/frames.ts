/** How evenly the page draws: the times between its animation frames. */

export interface Gaps {
  /** Stops at the next frame. Returns the longest gap in milliseconds. */
  end(): Promise<number>;
}

export function gapsBetweenFrames(): Gaps {
  let longest = 0;
  let last = performance.now();
  let ended: ((longest: number) => void) | undefined;
  requestAnimationFrame(function frame() {
    // Not the timestamp passed to the callback, which is when the frame should have begun.
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (ended) ended(longest);
    else requestAnimationFrame(frame);
  });
  return {
    end: () =>
      new Promise((resolve) => {
        ended = resolve;
      }),
  };
}
