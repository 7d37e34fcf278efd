/**
 * The permits of a limiter, which log their start in the rates that they were taken from.
 *
 * A start is logged after it has surely happened: when the synchronous part of a function has returned, or in the
 * microtask after the one in which the caller of `acquire` continues. So the guarantees hold for the moments at which the
 * work really starts, however late the event loop is between admission and start.
 */

import { HandedPermit, type Permit } from '../semaphore/permit.js';
import { nextMicrotask } from '../wait/give-up.js';
import type { Lane } from './lanes.js';
import type { Meter } from './rates.js';
import { log, type Weight, weighs } from './rules.js';

export class StartPermit extends HandedPermit {
  declare readonly _lane: Lane;
  declare readonly _weight: Weight | undefined;
  /** The shared meters. Undefined once the start is logged. */
  declare _shared: readonly Meter[] | undefined;
  declare readonly _own: readonly Meter[];

  constructor(lane: Lane, weight: Weight | undefined, shared: readonly Meter[]) {
    super(lane, weighs(weight, 'concurrency'));
    this._lane = lane;
    this._weight = weight;
    this._shared = shared;
    this._own = lane.meters;
  }

  /** Logs the start, unless it is logged already. */
  _started(): void {
    const shared = this._shared;
    if (shared === undefined) return;
    this._shared = undefined;
    const { _lane: lane, _weight: weight } = this;
    const now = lane.owner.time.read();
    log(shared, weight, now);
    log(this._own, weight, now);
    lane.owner._logged(lane);
  }
}

/** A permit, with or without a start to log. */
export type Starting = Permit & Partial<Pick<StartPermit, '_started'>>;

/** Logs a start in the next microtask, unless it is logged by then. */
export function logSoon(permit: Starting): void {
  if (permit._started !== undefined) nextMicrotask.then(() => permit._started?.());
}
