/**
 * The outcomes of a request: it starts, now or at its start time, or it is rejected.
 *
 * Invariant: a request that does not start keeps neither a start time nor concurrency.
 */

import type { Activity } from '../metrics.js';
import { timerDelay } from '../session/time.js';
import type { Decisions } from './decisions.js';
import type { Permits } from './permits.js';
import type { SharedRequest } from './request.js';
import type { Turns } from './turns.js';

const startOf = ({ grant }: SharedRequest): number => grant?.at[0] ?? 0;

export class Outcomes {
  readonly #permits: Permits;
  readonly #decisions: Decisions;
  readonly #activity: Activity;
  readonly #stats: { cancelled: number };
  readonly #turns: Turns;

  constructor(
    permits: Permits,
    decisions: Decisions,
    activity: Activity,
    stats: { cancelled: number },
    turns: Turns,
  ) {
    this.#permits = permits;
    this.#decisions = decisions;
    this.#activity = activity;
    this.#stats = stats;
    this.#turns = turns;
  }

  begin(request: SharedRequest, permit = this.#permits.make(request)): void {
    request.state = 'over';
    request.stop?.();
    // The permit counts as active before the request no longer counts as waiting, so that the limiter never appears idle.
    this.#activity.count(-1, 0);
    request.resolve(permit);
  }

  reject(request: SharedRequest, reason: unknown): void {
    request.state = 'over';
    request.stop?.();
    this.leaveSlot(request);
    this.#stats.cancelled++;
    this.#activity.count(-1, 0);
    request.resolve(Promise.reject(reason));
  }

  /** Starts a request at a time of `performance.now()`. */
  time(request: SharedRequest, moment: number): void {
    const { lane } = request;
    request.state = 'timed';
    lane.timed.add(request);
    const wait = (): void => {
      const left = moment - performance.now();
      if (left > 0) {
        // A timer may fire early, and cannot wait longer than the platform's maximum.
        request.timer = setTimeout(wait, timerDelay(left));
        return;
      }
      // A late reply delays the timer of an earlier request, whose start time has passed too by the store's clock. A store
      // that has lost its state may have given this request an earlier start time than that one.
      for (const earlier of lane.timed) {
        if (startOf(earlier) > startOf(request)) continue;
        clearTimeout(earlier.timer);
        if (earlier.slot === undefined || earlier.slot.isHeld) {
          lane.timed.delete(earlier);
          this.begin(earlier);
        } else {
          this.untime(earlier);
          this.sendBack(earlier);
          this.#turns.serve(lane);
        }
        if (earlier === request) break;
      }
      this.#turns.tidy(lane);
    };
    wait();
  }

  /** Returns the start time of a request to the store. */
  untime(request: SharedRequest): void {
    clearTimeout(request.timer);
    request.lane.timed.delete(request);
    if (request.grant !== undefined) this.#decisions.giveBack(request.grant);
    // If the store does not decide again, the request starts without it.
    request.grant = undefined;
  }

  /** Puts a request back before all later ones of its lane. */
  sendBack(request: SharedRequest): void {
    this.leaveSlot(request);
    request.state = 'queued';
    request.lane.return(request);
  }

  leaveSlot(request: SharedRequest): void {
    request.lane.slotted.delete(request);
    request.slot?.leave();
    request.slot = undefined;
  }
}
