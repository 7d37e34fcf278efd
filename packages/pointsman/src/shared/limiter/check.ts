/** What a limiter says of a request that does not wait. */

import { type Weight, weighs } from '../../sync/limiter/rules.js';
import type { StartGroup, StartResult } from '../protocol/starts.js';

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
}

/** Returns the decision by the rate of which the least is left, for the question at `index` among equal ones. */
export function checkResultOf(
  groups: readonly StartGroup[],
  { granted, count, delay, next, remaining, reset }: StartResult,
  index: number,
  weight: Weight,
): CheckResult {
  const allowed = granted && index < Math.max(count, 1);
  // The questions behind it have used theirs later.
  const later = allowed ? Math.max(0, count - 1 - index) : 0;
  const [first] = groups
    .flatMap(({ rates }) => rates)
    .map(({ name, limit, burst }, i) => ({
      limit: burst || limit,
      remaining: (remaining[i] as number) + later * weighs(weight, name),
      reset: (reset[i] as number) / 1000,
    }))
    .sort((a, b) => a.remaining - b.remaining || b.reset - a.reset) as [
    Pick<CheckResult, 'limit' | 'remaining' | 'reset'>,
  ];
  const wait = granted ? next : delay;
  const retryAfter = wait < 0 ? Infinity : wait / 1000;
  return { allowed, ...first, retryAfter: allowed ? 0 : retryAfter };
}
