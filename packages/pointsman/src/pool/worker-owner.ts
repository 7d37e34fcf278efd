/** The events of a worker handle. */

import type { Task } from './task.js';

export interface WorkerOwner<Worker> {
  /** The worker can run tasks. */
  ready(worker: Worker): void;
  /** A task has finished. `begunAt` and `runTime`, in milliseconds, are undefined if not known. */
  finished(
    worker: Worker,
    task: Task,
    failed: boolean,
    begunAt: number | undefined,
    runTime: number | undefined,
  ): void;
  /** A batch of messages has been handled. */
  batchHandled(): void;
  /** A task was withdrawn from the worker. */
  rested(worker: Worker): void;
  /** These tasks were withdrawn and need another worker. */
  returned(tasks: Task[]): void;
  /** An uncaught error of the thread that belongs to no task. */
  failedOutsideTask(error: unknown): void;
  /** The worker has ended. */
  lost(worker: Worker, why: string, cause: unknown): void;
  /** The worker should be replaced. */
  retire(worker: Worker): void;
}
