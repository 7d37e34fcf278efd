/**
 * A subject of this table: one pool of threads, used as its own documentation says.
 *
 * Every pool runs the functions of `tasks/`. Each has a module in `workers/` that exports them in the pool's form,
 * with `moved`, which returns a buffer without copying it. Invariant: only `open` imports the library, so a cell's
 * process loads no other subject, and the first result from cold includes the import.
 */
import type { Subject } from '../../harness/table.js';
import type * as functions from './tasks/index.js';

export type TaskName = keyof typeof functions | 'moved';

export interface PoolSettings {
  /** The maximum; a pool with a minimum gets the same value for it. */
  readonly threads: number;
  /** The heap limit of a thread, in megabytes. */
  readonly megabytes?: number;
  /** The limit of the queue. */
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
