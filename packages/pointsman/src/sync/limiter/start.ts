/** What a limiter grants: a permit that knows of its start what is to be logged. */

import { HandedPermit, type Permit } from '../semaphore/permit.js';
import type { Lane } from './lanes.js';
import type { Meter } from './rates.js';
import { log, type Weight, weighs } from './rules.js';

/** A permit whose start some rate wants to know of. */
export class StartPermit extends HandedPermit {
  declare readonly _lane: Lane;
  declare readonly _weight: Weight | undefined;
  /** The meters that it was taken from. Undefined once the start is logged. */
  declare _shared: readonly Meter[] | undefined;
  declare readonly _own: readonly Meter[];

  constructor(lane: Lane, weight: Weight | undefined, shared: readonly Meter[]) {
    super(lane, weighs(weight, 'concurrency'));
    this._lane = lane;
    this._weight = weight;
    this._shared = shared;
    this._own = lane.meters;
  }

  /** Logs the start, unless that has been done. */
  _started(): void {
    const shared = this._shared;
    if (shared === undefined) return;
    this._shared = undefined;
    const { _lane: lane, _weight: weight } = this;
    const now = lane.owner._time.read();
    log(shared, weight, now);
    log(this._own, weight, now);
    lane.owner._logged(lane);
  }
}

/** A permit, with or without a start to log. */
export type Starting = Permit & Partial<Pick<StartPermit, '_started'>>;
