/** Makes permits, and corrects what their starts took. */

import { type Weight, weighs } from '../../sync/limiter/rules.js';
import type { Activity } from '../metrics.js';
import type { StartGroup } from '../protocol/starts.js';
import type { Decisions, Grant } from './decisions.js';
import type { SharedRates } from './limits.js';
import { SharedPermit, type Start } from './permit.js';

export class Permits {
  readonly #rates: SharedRates;
  readonly #decisions: Decisions;
  readonly #activity: Activity;
  readonly #stats: { started: number; finished: number };

  constructor(
    rates: SharedRates,
    decisions: Decisions,
    activity: Activity,
    stats: { started: number; finished: number },
  ) {
    this.#rates = rates;
    this.#decisions = decisions;
    this.#activity = activity;
    this.#stats = stats;
  }

  /** Makes the permit of a start. */
  make({ grant, weight, slot, local }: Start): SharedPermit {
    this.#stats.started++;
    this.#activity.count(0, 1);
    return new SharedPermit(this, { grant, weight, slot, local });
  }

  /** A permit is released. */
  released({ slot, local }: Start): void {
    slot?.leave();
    local?.release();
    this.#stats.finished++;
    this.#activity.count(0, -1);
  }

  settle(start: Start, actual: Weight): void {
    this.#rates.checkActual(actual);
    start.local?.settle(actual);
    if (start.grant !== undefined) this.#correct(start.grant, start.weight, actual);
    start.weight = actual;
  }

  #correct(grant: Grant, before: Weight, after: Weight): void {
    const changed = (sign: 1 | -1): readonly StartGroup[] =>
      grant.groups.map((group) => ({
        ...group,
        weights: group.rates.map(({ name }) =>
          Math.max(0, sign * (weighs(after, name) - weighs(before, name))),
        ),
      }));
    const isSome = (corrected: readonly StartGroup[]): boolean =>
      corrected.some(({ weights }) => weights.some(Boolean));
    const less = changed(-1);
    const more = changed(1);
    if (isSome(less)) this.#decisions.giveBack({ ...grant, groups: less });
    if (isSome(more)) this.#decisions.add(more);
  }
}
