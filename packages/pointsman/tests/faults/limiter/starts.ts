/** Whether each start of a process had a grant by then. */
import type { Violation } from '../judge.js';
import type { Supply } from './grants.js';
import type { Distance, ProcessLog } from './judge.js';
import type { Ended, Started } from './log.js';
import { Pauses } from './pauses.js';

/**
 * How long a process may take, in microseconds and without its pauses, between the limiter's look at the clock, or the
 * arrival of the reply, and the start. A start whose lease ends meanwhile is counted as late.
 */
const standstill = 50_000;

interface Consumed {
  readonly violations: readonly Violation[];
  readonly late: number;
}

export function consume(
  log: ProcessLog,
  supplies: readonly Supply[],
  distance: Distance,
): Consumed {
  const violations: Violation[] = [];
  let late = 0;
  const pauses = new Pauses(log.lines);
  const ends = new Map<number, Ended>();
  const lanes = new Map<string, Started[]>();
  for (const line of log.lines) {
    if (line.kind === 'end') ends.set(line.id, line);
    if (line.kind !== 'start') continue;
    const lane = `${line.plan.length}:${line.plan}:${line.key}`;
    lanes.set(lane, [...(lanes.get(lane) ?? []), line]);
  }
  for (const [lane, starts] of lanes) {
    const own = supplies.filter((supply) => supply.lane === lane);
    const exact = own.filter(({ isLease }) => !isLease);
    exact.sort((one, other) => momentOf(one) - momentOf(other));
    const leases = own.filter(({ isLease }) => isLease);
    leases.sort((one, other) => one.decided - other.decided);
    let pool = 0;
    let nextExact = 0;
    let firstLease = 0;
    for (const start of starts) {
      const earliest = start.at / 1e3 + distance.least;
      const latest = start.at / 1e3 + distance.most;
      const weight = Math.min(start.weight, ends.get(start.id)?.weight ?? start.weight);
      for (let next = exact[nextExact]; next && momentOf(next) <= latest; next = exact[nextExact]) {
        pool += next.left0;
        nextExact += 1;
      }
      const isOver = (lease: Supply, by: number) => momentOf(lease) < by;
      const pause = standstill + pauses.before(start.at) / 1e3;
      while (leases[firstLease] && isOver(leases[firstLease] as Supply, earliest - 60e6))
        firstLease += 1;
      let inTime: Supply | undefined;
      let overtaken: Supply | undefined;
      for (let i = firstLease; i < leases.length; i++) {
        const lease = leases[i] as Supply;
        if (lease.decided > latest) break;
        if (lease.uses.length >= lease.left0) {
          if (i === firstLease) firstLease += 1;
          continue;
        }
        if (!isOver(lease, earliest)) {
          if (inTime === undefined || momentOf(lease) < momentOf(inTime)) inTime = lease;
        } else if (
          Math.max(momentOf(lease), lease.grant.received / 1e3 + distance.least) >
          earliest - pause
        ) {
          overtaken = lease;
        }
      }
      if (inTime !== undefined) {
        inTime.uses.push(latest);
      } else if (pool >= weight) {
        pool -= weight;
      } else if (overtaken !== undefined) {
        late += 1;
        overtaken.uses.push(momentOf(overtaken));
      } else {
        const text = `${log.name} started a request of ${lane} without a grant, or before its moment`;
        violations.push({ kind: 'early', at: start.at, text });
      }
    }
  }
  return { violations, late };
}

const momentOf = ({ groups }: Supply): number => groups[0]?.at ?? 0;
