/**
 * Measures the share of the processors that other programs used.
 *
 * Invariant: a cell's process counts as the lab's own only once it has been waited for, so a snapshot
 * is taken when no cell is running, and a cell waits for what it started.
 */
import { readFileSync } from 'node:fs';
import { sum } from 'simple-statistics';
import { descendantsOf, readIfThere } from './processor-time.js';

/** Clock ticks since boot. */
interface LoadSnapshot {
  readonly total: number;
  readonly busy: number;
  readonly steal: number;
  readonly own: number;
}

/** Shares of all the processors' time between two snapshots. */
export interface Load {
  /** The share of other processes and of the hypervisor. */
  readonly foreign: number;
  readonly steal: number;
}

export function parseLoad(
  systemStatistics: string,
  ...ownStatistics: readonly string[]
): LoadSnapshot {
  const firstLine = systemStatistics.slice(0, systemStatistics.indexOf('\n'));
  const ticks = firstLine.trim().split(/\s+/).slice(1).map(Number);
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, hard = 0, soft = 0, steal = 0] = ticks;
  const busy = user + nice + system + hard + soft + steal;
  return { total: busy + idle + wait, busy, steal, own: sum(ownStatistics.map(ticksIn)) };
}

/** Returns the ticks of a process and of the children that it has waited for. */
function ticksIn(statistics: string): number {
  // The command name, in parentheses, may hold spaces; the fields are counted after it.
  const fields = statistics.slice(statistics.lastIndexOf(')') + 2).split(' ');
  return sum(fields.slice(11, 15).map(Number));
}

/**
 * Returns undefined without /proc. `processes` are those that the lab waits for only at its end; their descendants count
 * too.
 */
export function readLoad(processes: readonly number[]): LoadSnapshot | undefined {
  try {
    const ids = processes.flatMap((id) => [id, ...descendantsOf(id)]);
    const own = ['self', ...ids].map((id) => readIfThere(`/proc/${id}/stat`));
    return parseLoad(readFileSync('/proc/stat', 'utf8'), ...own);
  } catch {
    return undefined;
  }
}

export function loadBetween(
  before: LoadSnapshot | undefined,
  after: LoadSnapshot | undefined,
): Load | null {
  if (!before || !after || after.total <= before.total) return null;
  const total = after.total - before.total;
  const foreign = after.busy - before.busy - (after.own - before.own);
  return {
    foreign: Math.max(0, foreign / total),
    steal: (after.steal - before.steal) / total,
  };
}
