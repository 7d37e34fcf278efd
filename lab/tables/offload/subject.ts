/**
 * What a subject of this table is: one pool of threads, used as its own documentation says.
 *
 * Every pool runs the functions of `tasks/`. Each has a module of its own in `workers/` that offers them
 * in the form it asks for, with `moved`, which gives a buffer back without copying it. Invariant: only
 * `open` imports the library, so a cell's process holds its own subject alone, and the import counts
 * where the first result from cold is timed.
 */
import type { Subject } from '../../harness/table.js';
import type * as functions from './tasks/index.js';

export type TaskName = keyof typeof functions | 'moved';

export interface PoolSettings {
  /** The most; peers that know a least are told the same. */
  readonly threads: number;
  /** How many megabytes of objects a thread may have. */
  readonly megabytes?: number;
  /** How many tasks may wait. */
  readonly maxWaiting?: number;
}

export interface TaskOptions {
  readonly transfer?: readonly ArrayBuffer[];
  readonly signal?: AbortSignal;
}

export interface OpenPool {
  run(task: TaskName, given: unknown, options?: TaskOptions): Promise<unknown>;
  end(): PromiseLike<unknown>;
}

export interface PoolSubject extends Subject {
  open(settings: PoolSettings): Promise<OpenPool>;
}
