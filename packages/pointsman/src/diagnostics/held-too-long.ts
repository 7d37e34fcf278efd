/** Finds what is held for too long. Invariant: one timer for all, and only while something is held that has a limit. */

import { emit } from './events.js';
import { everyWatched } from './record.js';
import { activityOf } from './snapshot.js';

let timer: ReturnType<typeof setTimeout> | undefined;
let due = Number.POSITIVE_INFINITY;

function look(): void {
  timer = undefined;
  due = Number.POSITIVE_INFINITY;
  const now = performance.now();
  for (const watched of everyWatched()) {
    const { heldTooLong } = watched;
    if (heldTooLong === undefined) continue;
    for (const hold of watched.holds) {
      if (hold.isReported) continue;
      const left = hold.since + heldTooLong - now;
      if (left > 0) {
        lookIn(left);
      } else {
        hold.isReported = true;
        emit('held-too-long', activityOf(hold));
      }
    }
  }
}

/** Looks again, at the latest in so many milliseconds. */
export function lookIn(left: number): void {
  const at = performance.now() + left;
  if (at >= due) return;
  clearTimeout(timer);
  due = at;
  // It fires a little early at times.
  timer = setTimeout(look, Math.min(Math.ceil(left), 2 ** 31 - 1));
  // It keeps no process alive. Where timers are numbers, none does.
  (timer as { unref?(): void }).unref?.();
}
