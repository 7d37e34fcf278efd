/** How evenly the page draws: the times between its animation frames. */

export interface Gaps {
  /** Stops counting. Returns the gaps in milliseconds. */
  end(): Promise<readonly number[]>;
}

export function gapsBetweenFrames(): Gaps {
  const gaps: number[] = [];
  let last: number | undefined;
  let ended = () => {};
  let going = true;
  requestAnimationFrame(function frame() {
    // Not the timestamp passed to the callback, which is when the frame should have begun.
    const now = performance.now();
    if (last !== undefined) gaps.push(now - last);
    last = now;
    if (going) requestAnimationFrame(frame);
    else ended();
  });
  return {
    end: () =>
      new Promise((resolve) => {
        ended = () => resolve(gaps);
        going = false;
      }),
  };
}
