/**
 * The permits of a limiter, which log their start in the rates that they were taken from.
 *
 * A start is logged after it has surely happened: when the synchronous part of a function has returned, or in the
 * microtask after the one in which the caller of `acquire` continues. So the guarantees hold for the moments at which the
 * work really starts, however late the event loop is between admission and start.
 */

import { checkInteger } from '../errors.js';
import { checkOptions } from '../options.js';
import { HandedPermit, type Permit } from '../semaphore/permit.js';
import { nextMicrotask } from '../wait/give-up.js';
import type { Lane } from './lanes.js';
import type { Meter } from './rates.js';
import { log, type Weight, weighs } from './rules.js';

export class StartPermit extends HandedPermit {
  declare readonly _lane: Lane;
  declare _weight: Weight | undefined;
  /** When the start was logged. */
  declare _at: number;
  /** The shared meters. */
  declare readonly _shared: readonly Meter[];
  declare readonly _own: readonly Meter[];

  constructor(lane: Lane, weight: Weight | undefined, shared: readonly Meter[]) {
    super(lane, weighs(weight, 'concurrency'));
    this._lane = lane;
    this._weight = weight;
    this._at = -Infinity;
    this._shared = shared;
    this._own = lane.meters;
  }

  /** Logs the start, unless it is logged already. */
  _started(): void {
    if (this._at > -Infinity) return;
    const { _lane: lane, _weight: weight } = this;
    const now = lane.owner.time.read();
    this._at = now;
    log(this._shared, weight, now);
    log(this._own, weight, now);
    lane.owner._logged(lane);
  }

  settle(actual: Weight): void {
    const { _lane: lane, _weight: before } = this;
    const meters = [...this._shared, ...this._own];
    if (typeof actual === 'object')
      checkOptions(
        actual,
        meters.map(({ rate }) => rate.name),
        'actual',
      );
    for (const { rate } of meters) checkInteger('actual', weighs(actual, rate.name), 0);
    this._started();
    this._weight = actual;
    const now = lane.owner.time.read();
    for (const meter of meters) {
      const { name } = meter.rate;
      meter.correct(weighs(actual, name) - weighs(before, name), this._at, now);
    }
    lane.owner._changed(lane);
  }
}

/** A permit, with or without a start to log. */
export type Starting = Permit & Partial<Pick<StartPermit, '_started'>>;

/** Logs a start in the next microtask, unless it is logged by then. */
export function logSoon(permit: Starting): void {
  if (permit._started !== undefined) nextMicrotask.then(() => permit._started?.());
}
