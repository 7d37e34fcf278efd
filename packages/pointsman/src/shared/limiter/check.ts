/** The result of a request that does not wait. */

import type { ReadRate } from '../../sync/limiter/rates.js';
import { type Weight, weighs } from '../../sync/limiter/rules.js';
import type { Decision } from './decisions.js';

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
  /** The time until the whole limit is available again. */
  readonly reset: number;
}

/** The result of {@link SharedLimiter.check}. Times are milliseconds. */
export interface CheckResult {
  readonly allowed: boolean;
  /** The limit of the rate with the least left, or the size of its bucket. */
  readonly limit: number;
  /** What is left of it. */
  readonly remaining: number;
  /** The time until the whole limit is available again. */
  readonly reset: number;
  /** The time until the request could start; 0 if it is allowed, `Infinity` if it is heavier than a limit. */
  readonly retryAfter: number;
  /** All rates that apply to the request; none if the store has not decided. */
  readonly rates: readonly RateState[];
}

/** `retryAfter`, in milliseconds, of a request that lacks only concurrency: it is unknown when that will be free. */
const UNKNOWN = 1_000;

/** Returns the result of a check that the store has not decided. */
export function undecidedResultOf(rates: readonly ReadRate[], allowed: boolean): CheckResult {
  const [{ limit, per, burst = limit }] = rates as readonly [ReadRate];
  const retryAfter = allowed ? 0 : per / limit;
  return { allowed, limit: burst, remaining: 0, reset: per, retryAfter, rates: [] };
}

/** Returns the decision for the question at `index` among equal ones. `whole` names the group of all requests. */
export function checkResultOf(
  { groups, granted, count, delay, next, remaining: left, reset: until }: Decision,
  index: number,
  weight: Weight,
  whole: string,
): CheckResult {
  const allowed = granted && index < Math.max(count, 1);
  // The questions behind it have used theirs later.
  const later = allowed ? Math.max(0, count - 1 - index) : 0;
  const rates: RateState[] = [];
  let tightest: RateState | undefined;
  for (const group of groups) {
    for (const { name, limit, per, burst } of group.rates) {
      const i = rates.length;
      const most = burst || limit;
      const rate: RateState = {
        name,
        perKey: group.limiter !== whole,
        limit: most,
        window: (per * (most / limit)) / 1000,
        remaining: (left[i] as number) + (later > 0 ? later * weighs(weight, name) : 0),
        reset: (until[i] as number) / 1000,
      };
      rates.push(rate);
      const more = tightest === undefined ? -1 : rate.remaining - tightest.remaining;
      if (more < 0 || (more === 0 && rate.reset > (tightest as RateState).reset)) tightest = rate;
    }
  }
  const { limit, remaining, reset } = tightest as RateState;
  const wait = granted ? next : delay || UNKNOWN * 1000;
  const retryAfter = allowed ? 0 : wait < 0 ? Infinity : wait / 1000;
  return { allowed, limit, remaining, reset, retryAfter, rates };
}
