/**
 * Decides from the logs of all processes whether a limiter kept its law. The processes do not judge themselves, and no
 * clock of theirs counts.
 *
 * A start has three times: the store's moment, which the store replied; the real start, by the machine's monotonic clock
 * and with nothing between the start and its line in the log; and the time at which the line is written, which does not
 * count. The judge knows the store's clock from the replies: a reply was decided between its request and its arrival, so
 * each bounds the distance of the store's clock from the machine's, and all of them together bound it to microseconds.
 *
 * - No start is without a grant, and none is earlier than its moment: in each process, the weight that has started by any
 *   time is at most the weight that was granted for moments until then and not given back. A start may be later, by the
 *   way of the reply and the process's own turn, so it is judged by its moment. A start of a lease has no moment of its
 *   own, so it is judged by its real time, which lies in the lease.
 * - No window of these moments is above its limit. Weight that was given back later does not count; weight that was added
 *   counts for grants that were requested after the store had acknowledged it.
 *
 * Invariant: no false accusation. What the bounds leave open is decided for the limiter.
 */
import type { Violation } from '../judge.js';
import { excess } from './concurrency.js';
import { grantsOf, type Supply } from './grants.js';
import type { Line } from './log.js';
import type { Plan, Rate } from './plans.js';
import { consume } from './starts.js';
import { type Entry, judgeBucket, judgeWindows } from './windows.js';

export interface ProcessLog {
  readonly name: string;
  readonly lines: readonly Line[];
  readonly killedAt?: number | undefined;
}

export interface Circumstances {
  /** When the store may have forgotten something, in nanoseconds. */
  readonly losses: readonly number[];
  /** The lease of what runs, in milliseconds; undefined if it may have been lost. */
  readonly ttl: number | undefined;
}

/** Microseconds to add to the machine's clock: the least and the most. */
export interface Distance {
  readonly least: number;
  readonly most: number;
}

export interface LimiterJudgement {
  readonly violations: readonly Violation[];
  readonly starts: number;
  readonly windows: number;
  /** Starts of a lease whose process was paused between its look at the clock and the start. */
  readonly late: number;
  /** Windows above their limit because the store had forgotten what was in them. */
  readonly forgotten: number;
  readonly distance: Distance;
}

export function judgeLimiter(
  plans: readonly Plan[],
  processes: readonly ProcessLog[],
  { losses, ttl }: Circumstances,
): LimiterJudgement {
  const violations: Violation[] = [];
  const supplies = processes.map(({ lines }) => grantsOf(plans, lines));
  const distance = distanceOf(supplies.flat());
  if (distance.least > distance.most + 500) {
    const text = `the store's clock jumped: ${distance.least} > ${distance.most}`;
    violations.push({ kind: 'odd', text });
  }
  let starts = 0;
  let windows = 0;
  let late = 0;
  let forgotten = 0;
  for (const [i, log] of processes.entries()) {
    for (const line of log.lines) {
      if (line.kind === 'odd') violations.push({ kind: 'odd', text: `${log.name}: ${line.text}` });
      if (line.kind === 'start') starts += 1;
    }
    const consumed = consume(log, supplies[i] as Supply[], distance);
    late += consumed.late;
    violations.push(...consumed.violations);
  }
  const adds = processes.flatMap(({ lines }) => lines).filter((line) => line.kind === 'correction');
  const epochOf = (sent: number): number => losses.filter((at) => at <= sent).length;
  const judge = (plan: Plan, limiter: string, rate: Rate, g: number, r: number): void => {
    const own = supplies.flat().filter(({ groups }) => groups[g]?.limiter === limiter);
    const entries: Entry[] = own.flatMap((supply) => {
      const weight = supply.weightOf(g, r);
      const { sent } = supply.grant;
      const epoch = epochOf(sent);
      // The store counts a start of a lease with its end; here counts when it was.
      return supply.isLease
        ? supply.uses.map((at) => ({ at, weight: weight / supply.left0, sent, epoch }))
        : [{ at: supply.groups[g]?.at ?? 0, weight, sent, epoch }];
    });
    if (rate.burst !== undefined) {
      const found = judgeBucket(`${plan.name} ${rate.name} of ${limiter}`, rate, entries);
      violations.push(...found);
      windows += entries.length;
      return;
    }
    const width = plan.lease === undefined ? 0 : Math.max(0, distance.most - distance.least);
    const added = adds.flatMap(({ sent, received, groups }) => {
      const group = groups.find((each) => each.limiter === limiter);
      const weight = group?.weights[r] ?? 0;
      const at = sent / 1e3 + distance.least;
      return received !== undefined && weight > 0 ? [{ at, weight, received }] : [];
    });
    const judged = judgeWindows(limiter, rate, entries, added, width);
    violations.push(...judged.violations);
    windows += judged.windows;
    forgotten += judged.forgotten;
  };
  for (const plan of plans) {
    const whole = `${plan.name.length}:${plan.name}`;
    for (const [r, rate] of plan.rate.entries()) judge(plan, whole, rate, 0, r);
    for (const key of plan.perKey === undefined ? [] : plan.keys) {
      for (const [r, rate] of plan.perKey?.rate.entries() ?? []) {
        judge(plan, `${whole}:${key}`, rate, 1, r);
      }
    }
    if (ttl !== undefined) violations.push(...excess(plan, processes, ttl));
  }
  return { violations, starts, windows, late, forgotten, distance };
}

function distanceOf(supplies: readonly Supply[]): Distance {
  let least = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;
  for (const { decided, grant } of supplies) {
    least = Math.max(least, decided - grant.received / 1e3);
    most = Math.min(most, decided - grant.sent / 1e3);
  }
  return { least, most };
}
