/**
 * What may end a task before its result: its signal, the bound of its wait and the bound of its run.
 *
 * Invariant: the time that it runs is measured only while a worker has it, and from the moment at which that worker
 * got it. A task with such a bound goes to idle workers only, so that this is when it begins.
 */

import { TimeoutError, timedOut } from '../sync/errors.js';
import { giveUpOn } from '../sync/give-up.js';
import type { RunOptions } from './options.js';
import type { Task } from './task.js';

/** What a pool does about a task that is given up. */
export interface TaskWatcher {
  /** Its signal has aborted. */
  aborted(task: Task, reason: unknown): void;
  /** Its `timeout` is over. It may have begun. */
  waitedTooLong(task: Task, error: unknown): void;
  /** A worker has had it for its `runTimeout`. */
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

  /** `label`: what errors begin with. Throws if the signal cannot be listened to. */
  constructor(task: Task, options: RunOptions, label: string, watcher: TaskWatcher) {
    const { signal, timeout = Number.POSITIVE_INFINITY } = options;
    this.#task = task;
    this.#runTimeout = options.runTimeout ?? Number.POSITIVE_INFINITY;
    this.#label = label;
    this.#watcher = watcher;
    this.#stopSignal =
      signal === undefined
        ? nothing
        : giveUpOn({ signal }, (reason) => watcher.aborted(task, reason), timedOut);
    // With 0 it does not wait at all.
    this.#stopWait =
      timeout === 0
        ? nothing
        : giveUpOn(
            { timeout },
            (error) => watcher.waitedTooLong(task, error),
            () => hasNotBegun(task.name, timeout, label),
          );
  }

  /** A worker has the task. */
  handedOver(): void {
    const timeout = this.#runTimeout;
    if (timeout === Number.POSITIVE_INFINITY) return;
    this.#stopRun = giveUpOn(
      { timeout },
      (error) => this.#watcher.ranTooLong(this.#task, error),
      () => new TimeoutError(`${this.#label}${this.#task.name}() has run for ${timeout} ms`),
    );
  }

  /** No worker has the task any more. */
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
