/**
 * Replays recorded starts of all processes against a rule: at most `limit` in any window of `per` milliseconds.
 *
 * Invariant: it counts only what is certain. The limiter allowed a start at a moment between its request and its answer,
 * so starts are in one window if all of them were requested and answered within it. A slow answer never looks like a
 * violation.
 */
import type { Rule } from './subject.js';

/** Milliseconds of one clock. */
export interface Start {
  readonly asked: number;
  readonly answered: number;
}

export interface Verdict {
  readonly starts: number;
  /** Starts in a window that was already full. */
  readonly above: number;
  /** The largest number of starts in any window. */
  readonly mostInWindow: number;
}

export function judge(starts: readonly Start[], { limit, per }: Rule): Verdict {
  const byAnswer = [...starts].sort((a, b) => a.answered - b.answered);
  let above = 0;
  let mostInWindow = 0;
  for (const [index, { answered }] of byAnswer.entries()) {
    const inWindow = byAnswer.slice(0, index + 1).filter(({ asked }) => asked > answered - per);
    mostInWindow = Math.max(mostInWindow, inWindow.length);
    if (inWindow.length > limit) above++;
  }
  return { starts: starts.length, above, mostInWindow };
}
