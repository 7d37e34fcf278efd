/** The requests that run at once, by the machine's clock. */
import type { Violation } from '../judge.js';
import type { ProcessLog } from './judge.js';
import type { Ended } from './log.js';
import { Pauses } from './pauses.js';
import type { Plan } from './plans.js';

/** A process may lose what it holds if it is paused for as long as this part of its lease. */
const safe = 1 / 4;

export function excess(
  { name, concurrency }: Plan,
  processes: readonly ProcessLog[],
  ttl: number,
): Violation[] {
  if (concurrency === undefined) return [];
  const changes: { readonly at: number; readonly by: number }[] = [];
  for (const { lines, killedAt = Number.POSITIVE_INFINITY } of processes) {
    const pauses = new Pauses(lines);
    const ends = new Map<number, Ended>();
    for (const line of lines) if (line.kind === 'end') ends.set(line.id, line);
    for (const line of lines) {
      if (line.kind !== 'start' || line.plan !== name) continue;
      const until = Math.min(ends.get(line.id)?.at ?? Number.POSITIVE_INFINITY, killedAt);
      // Most requests end soon, and need no search.
      const pause =
        until > line.at + ttl * 1e6 * safe ? pauses.next(line.at, ttl * 1e6 * safe) : until;
      const end = Math.min(until, pause);
      if (end <= line.at) continue;
      changes.push({ at: line.at, by: line.weight }, { at: end, by: -line.weight });
    }
  }
  // What ends at a time does not overlap with what begins then.
  changes.sort((one, other) => one.at - other.at || one.by - other.by);
  let running = 0;
  const violations: Violation[] = [];
  for (const { at, by } of changes) {
    running += by;
    if (by < 0 || running <= concurrency) continue;
    const text = `requests of ${name} run with a weight of ${running}, above ${concurrency}`;
    violations.push({ kind: 'overlap', at, text });
  }
  return violations;
}
