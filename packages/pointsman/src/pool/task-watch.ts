/**
 * Cancels a task when its signal aborts, or its `timeout` or `runTimeout` elapses.
 *
 * Invariant: the `runTimeout` is measured from the submission to a worker. A task with a `runTimeout` is submitted only
 * to an idle worker, so it begins at that moment.
 */

import { TimeoutError, timedOut } from '../sync/errors.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import type { RunOptions } from './options.js';
import type { Task } from './task.js';

/** The pool's reactions. */
export interface TaskWatcher {
  /** The signal of the task aborted. */
  aborted(task: Task, reason: unknown): void;
  /** The `timeout` of the task elapsed. The task may have begun. */
  waitedTooLong(task: Task, error: unknown): void;
  /** The `runTimeout` of the task elapsed. */
  ranTooLong(task: Task, error: unknown): void;
}

export class TaskWatch {
  readonly #task: Task;
  readonly #runTimeout: number;
  readonly #label: string;
  readonly #watcher: TaskWatcher;
  readonly #stopSignal: () => void;
  readonly #stopWait: () => void;
  #stopRun: () => void = nothing;

  /** `label`: the prefix of error messages. Throws if adding a listener to the signal throws. */
  constructor(task: Task, options: RunOptions, label: string, watcher: TaskWatcher) {
    const { signal, timeout = Infinity } = options;
    this.#task = task;
    this.#runTimeout = options.runTimeout ?? Infinity;
    this.#label = label;
    this.#watcher = watcher;
    this.#stopSignal =
      signal === undefined
        ? nothing
        : giveUpOn({ signal }, (reason) => watcher.aborted(task, reason), timedOut);
    // A task with a timeout of 0 does not wait.
    this.#stopWait =
      timeout === 0
        ? nothing
        : giveUpOn(
            { timeout },
            (error) => watcher.waitedTooLong(task, error),
            () => hasNotBegun(task.name, timeout, label),
          );
  }

  /** Called when the task was submitted to a worker: starts the `runTimeout`. */
  submitted(): void {
    const timeout = this.#runTimeout;
    if (timeout === Infinity) return;
    this.#stopRun = giveUpOn(
      { timeout },
      (error) => this.#watcher.ranTooLong(this.#task, error),
      () => new TimeoutError(`${this.#label}${this.#task.name}() has run for ${timeout} ms`),
    );
  }

  /** Called when the worker no longer has the task: stops the `runTimeout`. */
  stopRun(): void {
    this.#stopRun();
  }

  stop(): void {
    this.#stopSignal();
    this.#stopWait();
    this.#stopRun();
  }
}

export function hasNotBegun(name: string, timeout: number, label: string): TimeoutError {
  return new TimeoutError(`${label}${name}() has not begun within ${timeout} ms`);
}

function nothing(): void {}
