/**
 * Reports permits that are held for too long.
 *
 * Invariant: there is at most one timer, set when a permit with a limit is acquired. A release does not clear it: it fires
 * once more and finds no permit.
 */

import { emit } from './events.js';
import { everyWatched } from './record.js';
import { activityOf } from './snapshot.js';

let timer: ReturnType<typeof setTimeout> | undefined;
let due = Number.POSITIVE_INFINITY;

function check(): void {
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
        checkIn(left);
      } else {
        hold.isReported = true;
        emit('held-too-long', activityOf(hold));
      }
    }
  }
}

/** Schedules a check in at most `left` milliseconds. */
export function checkIn(left: number): void {
  const at = performance.now() + left;
  if (at >= due) return;
  clearTimeout(timer);
  due = at;
  // Rounded up, because timers may fire slightly early.
  timer = setTimeout(check, Math.min(Math.ceil(left), 2 ** 31 - 1));
  // The timer must not keep the process alive. Where timers are numbers, none does.
  (timer as { unref?(): void }).unref?.();
}
