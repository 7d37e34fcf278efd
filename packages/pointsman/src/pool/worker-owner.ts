/** What the handle of a worker tells its pool: types only. */

import type { Task } from './task.js';

export interface WorkerOwner<Worker> {
  /** It can be given tasks. */
  ready(worker: Worker): void;
  /** A task is over. `begunAt` and `runTime`, in milliseconds, are undefined if nobody knows. */
  finished(
    worker: Worker,
    task: Task,
    failed: boolean,
    begunAt: number | undefined,
    runTime: number | undefined,
  ): void;
  /** A batch of what it says has been dealt with. */
  batchHandled(): void;
  /** It has less to do. */
  rested(worker: Worker): void;
  /** These tasks, which were not begun, need another worker. */
  returned(tasks: Task[]): void;
  /** An error that no task is to blame for. */
  failedOutsideTask(error: unknown): void;
  /** It has ended. */
  lost(worker: Worker, why: string, cause: unknown): void;
  /** It should be replaced. */
  retire(worker: Worker): void;
}
