/**
 * The processor time of a process and its descendants while they should be idle.
 *
 * Invariant: it counts nanoseconds of every thread, because the clock ticks of /proc/<id>/stat are too coarse for a
 * tenth of a second.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { sum } from 'simple-statistics';

/** Begins to count; the returned function gives the share of a core used since. Undefined without /proc. */
export function idleShareOf(process: number | undefined): () => number | undefined {
  const before = process === undefined ? undefined : nanosecondsOf(process);
  const startedAt = performance.now();
  return () => {
    if (process === undefined || before === undefined) return undefined;
    const after = nanosecondsOf(process);
    if (after === undefined) return undefined;
    return Math.max(0, after - before) / 1e6 / (performance.now() - startedAt);
  };
}

function nanosecondsOf(process: number): number | undefined {
  try {
    return sum([process, ...descendantsOf(process)].map(nanosecondsOfThreads));
  } catch {
    return undefined;
  }
}

function nanosecondsOfThreads(process: number): number {
  const threads = readdirSync(`/proc/${process}/task`);
  return sum(
    threads.map((thread) => {
      const statistics = readFileSync(`/proc/${process}/task/${thread}/schedstat`, 'utf8');
      return Number(statistics.split(' ')[0]);
    }),
  );
}

function descendantsOf(process: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = parentOf(name);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const of = (id: number): number[] =>
    (children.get(id) ?? []).flatMap((child) => [child, ...of(child)]);
  return of(process);
}

function parentOf(process: string): number | undefined {
  try {
    const statistics = readFileSync(`/proc/${process}/stat`, 'utf8');
    // The command name, in parentheses, may hold spaces.
    return Number(statistics.slice(statistics.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}
