/** The result of `SharedLimiter.check`, read from the store's answer. */

import { type Weight, weighs } from '../../sync/limiter/rules.js';
import type { StartGroup, StartResult } from '../protocol/starts.js';

/** A rate after a {@link SharedLimiter.check}. Times are milliseconds. */
export interface RateState {
  readonly name: string;
  /** Whether it is a rate of the key, not one of all requests together. */
  readonly perKey: boolean;
  /** Its limit, or the size of its bucket. */
  readonly limit: number;
  /** The length of its window, or the time in which its empty bucket fills. */
  readonly window: number;
  /** What is left of the limit. */
  readonly remaining: number;
  /** Until all of it is left. */
  readonly reset: number;
}

/** What {@link SharedLimiter.check} decides. Times are milliseconds. */
export interface CheckResult {
  readonly allowed: boolean;
  /** Of the rate of which the least is left: its limit, or the size of its bucket. */
  readonly limit: number;
  /** What is left of it. */
  readonly remaining: number;
  /** Until all of it is left. */
  readonly reset: number;
  /** Until the request could start; 0 if it is allowed, `Infinity` if it is heavier than a limit. */
  readonly retryAfter: number;
  /** All rates that the request is taken from; none if the store has not decided. */
  readonly rates: readonly RateState[];
}

/** Returns the result for the question at `index` among equal ones. `whole` names the group of all requests. */
export function resultOf(
  groups: readonly StartGroup[],
  { granted, count, delay, next, remaining, reset }: StartResult,
  index: number,
  weight: Weight,
  whole: string,
): CheckResult {
  const allowed = granted && index < Math.max(count, 1);
  // Those behind have used theirs after it.
  const later = allowed ? Math.max(0, count - 1 - index) : 0;
  let i = 0;
  const rates = groups.flatMap(({ limiter, rates }) =>
    rates.map(({ name, limit, per, burst }): RateState => {
      const left = (remaining[i] as number) + later * weighs(weight, name);
      const all = (reset[i] as number) / 1000;
      i++;
      return {
        name,
        perKey: limiter !== whole,
        limit: burst || limit,
        window: (burst ? (per * burst) / limit : per) / 1000,
        remaining: left,
        reset: all,
      };
    }),
  );
  const tightest = rates.reduce((least, rate) =>
    rate.remaining < least.remaining ||
    (rate.remaining === least.remaining && rate.reset > least.reset)
      ? rate
      : least,
  );
  const wait = granted ? next : delay;
  const retryAfter = allowed ? 0 : wait < 0 ? Infinity : wait / 1000;
  const { limit, remaining: left, reset: until } = tightest;
  return { allowed, limit, remaining: left, reset: until, retryAfter, rates };
}
