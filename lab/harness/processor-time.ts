/**
 * The processor time of processes, from /proc.
 *
 * Invariant: from the scheduler's own counts, in nanoseconds, per thread. Threads that end in between are not counted,
 * so no thread may start or end during a measurement.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** By thread, in milliseconds. */
export type ProcessorTime = ReadonlyMap<string, number>;

export function readProcessorTime(processes: readonly number[]): ProcessorTime {
  return new Map(
    processes.flatMap((id) =>
      threadsOf(id).map((thread) => {
        const line = readIfThere(`/proc/${id}/task/${thread}/schedstat`);
        return [`${id}/${thread}`, Number(line.split(' ')[0]) / 1e6] as const;
      }),
    ),
  );
}

export function millisecondsBetween(before: ProcessorTime, after: ProcessorTime): number {
  return [...after].reduce((sum, [thread, time]) => sum + time - (before.get(thread) ?? 0), 0);
}

export function descendantsOf(process: number): number[] {
  const parents = parentsById();
  return [...parents.keys()].filter((id) => isDescendant(id, process, parents));
}

function parentsById(): Map<number, number> {
  const ids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return new Map(
    ids.flatMap((id) => {
      const statistics = readIfThere(`/proc/${id}/stat`);
      // The command name, in parentheses, may contain spaces; the fields are counted after it.
      const parent = statistics.slice(statistics.lastIndexOf(')') + 2).split(' ')[1];
      return parent === undefined ? [] : [[id, Number(parent)] as const];
    }),
  );
}

function isDescendant(id: number, ancestor: number, parents: ReadonlyMap<number, number>): boolean {
  for (let parent = parents.get(id); parent !== undefined; parent = parents.get(parent)) {
    if (parent === ancestor) return true;
  }
  return false;
}

function threadsOf(id: number): string[] {
  try {
    return readdirSync(`/proc/${id}/task`);
  } catch {
    return [];
  }
}

/** Returns an empty text for a process that has ended. */
export function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
