/** How evenly the page can draw: the times between its animation frames. */

export interface Gaps {
  /** Stops counting; the gaps in milliseconds. */
  end(): Promise<readonly number[]>;
}

export function gapsBetweenFrames(): Gaps {
  const gaps: number[] = [];
  let last: number | undefined;
  let ended = () => {};
  let going = true;
  requestAnimationFrame(function frame() {
    // Not the time that a frame is given, which is when it should have begun.
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
