/**
 * The unfinished tasks of a pool: admits them, submits them to workers, cancels them, and ends the workers when the pool
 * is closed.
 *
 * Invariants:
 * - Each task settles once and runs at most once.
 * - `#active` counts the unfinished tasks; the workers keep the process alive exactly while it is above 0.
 */

import { fullError, notIdle } from '../sync/errors.js';
import type { WaitOptions } from '../sync/options.js';
import { readWait, WaitQueue } from '../sync/wait/queue.js';
import { QueueSpace } from '../sync/wait/queue-space.js';
import { now, turnTime } from '../transport/clock.js';
import type { Stop } from './claims.js';
import { ThreadEndedError } from './errors.js';
import { WORTH_SPINNING } from './mailbox.js';
import { Metrics } from './metrics.js';
import { type PoolOptions, poolDefaults, type RunOptions } from './options.js';
import { Scheduler } from './scheduler.js';
import type { Task } from './task.js';
import { hasNotBegun, TaskWatch, type TaskWatcher } from './task-watch.js';
import type { WorkerHandle } from './worker-handle.js';
import { WorkerSet } from './worker-set.js';

export class Admission {
  readonly #options: PoolOptions;
  /** The prefix of error messages. */
  readonly _label: string;
  readonly #scheduler: Scheduler<Task, WorkerHandle>;
  readonly #drains: WaitQueue<void>;
  /** The number of unfinished tasks. */
  #active = 0;
  /** The number of tasks that the pool was given so far. */
  #requests = 0;
  #closed: { readonly reason: unknown } | undefined;
  #ended: Promise<void> | undefined;
  readonly workers: WorkerSet;
  readonly space: QueueSpace;
  readonly metrics = new Metrics();

  constructor(options: PoolOptions, label: string) {
    this.#options = options;
    this._label = label;
    this.#drains = new WaitQueue(label);
    const requests = () => this.#requests;
    this.space = new QueueSpace(label, () => this.remainingSpace(), requests);
    this.#scheduler = new Scheduler(options.ageing ?? poolDefaults.ageing);
    this.workers = new WorkerSet(
      options,
      {
        areTasksShort: () => this.#scheduler.meanRunTime < WORTH_SPINNING,
        ready: (worker) => {
          this.#scheduler.addWorker(worker);
          this.#grow();
        },
        finished: (worker, task, failed, begunAt, runTime) =>
          this.#finished(worker, task, failed, begunAt, runTime),
        batchHandled: () => this.#goOn(),
        returned: (tasks) => {
          this.#scheduler.putBack(tasks);
          this.#goOn();
        },
        started: () => this.metrics.threadsStarted++,
        retired: (worker) => this.#scheduler.removeWorker(worker),
        ended: (worker) => {
          this.#scheduler.removeWorker(worker);
          this.metrics.threadEnded(worker.startedAt);
          if (!worker.isEnding) this.metrics.threadsLost++;
        },
        cannotStart: (why, cause) => this.#failAll(why, cause),
      },
      label,
    );
  }

  /** Whether new tasks are refused. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Throws the reason of the first call that closed the pool. */
  refuseIfClosed(): void {
    if (this.#closed) throw this.#closed.reason;
  }

  /** The number of tasks that run, as far as this thread knows. */
  get _active(): number {
    return this.workers.running;
  }

  /** The number of tasks that wait, in the queue or in a worker. */
  get waiting(): number {
    return this.#active - this.workers.running;
  }

  /** Submits a task, or queues it. Throws if the pool or the queue refuses it. */
  admit(task: Task, options: RunOptions | undefined): void {
    const { signal, timeout } = options ?? {};
    if (signal?.aborted) throw signal.reason;
    this.refuseIfClosed();
    if (timeout === 0) {
      if (this.#scheduler.idle === 0) throw hasNotBegun(task.name, 0, this._label);
      // An idle thread runs the task now; it must not return to the queue.
      task.isUnique = true;
    }
    // A timeout needs the exact time, not the time at which this turn began.
    task.enqueuedAt = timeout === undefined ? turnTime() : now();
    this.#requests++;
    const isFull = this.remainingSpace() <= 0;
    const drops = isFull && this.#options.whenFull === 'drop-oldest';
    if (isFull && !drops) {
      this.metrics.cancelled++;
      throw this.#refusal();
    }
    if (signal !== undefined || timeout !== undefined || task.runTimeout !== undefined) {
      if (timeout) task.startBy = task.enqueuedAt + timeout;
      task.watch = new TaskWatch(task, options as RunOptions, this._label, this.#watcher);
    }
    if (++this.#active === 1) this.workers.hold(true);
    this.#scheduler.add(task);
    const dropped = drops && this.#scheduler.dropOldest();
    if (dropped) this.#refuse(dropped, this.#refusal());
    this.#grow();
  }

  readonly #watcher: TaskWatcher = {
    aborted: (task, reason) => {
      if (!this.#refuseUnbegun(task, reason)) this.#stop(task, 'aborted', reason);
    },
    waitedTooLong: (task, error) => {
      this.#refuseUnbegun(task, error);
    },
    ranTooLong: (task, error) => {
      if (!task.worker?.withdraw(task)) {
        this.#stop(task, 'timed out', error);
        return;
      }
      // The task has not begun: code that an earlier task left running keeps the thread busy.
      if (task.isUnique) {
        // The arguments were transferred and cannot be sent again.
        this.#refuse(task, hasNotBegun(task.name, task.runTimeout as number, this._label));
      } else {
        this.#scheduler.putBack([task]);
      }
      this.#goOn();
    },
  };

  /** Rejects a task that has not begun. Returns false if it has. */
  #refuseUnbegun(task: Task, reason: unknown): boolean {
    const { worker } = task;
    if (worker === undefined) this.#scheduler.remove(task);
    else if (!worker.withdraw(task)) return false;
    this.#refuse(task, reason);
    if (worker !== undefined) this.#goOn();
    return true;
  }

  /** Cancels a running task. */
  #stop(task: Task, stop: Stop, reason: unknown): void {
    task.isCancelled = true;
    this.metrics.cancelled++;
    task.settle(reason, true);
    task.stopWatching();
    task.stream?.fail(reason);
    task.worker?.stop(task, stop, reason);
  }

  /** Rejects a task that no thread has. */
  #refuse(task: Task, error: unknown): void {
    this.metrics.cancelled++;
    task.settle(error, true);
    this.#over(task);
  }

  /** Rejects all tasks that wait, in the queue or in a thread behind the task that the thread runs. */
  refuseWaiting(reason: unknown): void {
    const waiting = [...this.#scheduler.drain()];
    for (const worker of this.workers) {
      const behind = worker.tasks().slice(1);
      waiting.push(...behind.filter((task) => worker.withdraw(task)));
    }
    for (const task of waiting) this.#refuse(task, reason);
  }

  /** Removes a finished task from the counts, and notifies callers that wait for space or for the pool to be idle. */
  #over(task: Task): void {
    this.#scheduler.over(task);
    if (--this.#active === 0) this.workers.hold(false);
    this.space.changed();
    if (this.#active === 0) this.#drains.resolveAll();
  }

  #finished(
    worker: WorkerHandle,
    task: Task,
    failed: boolean,
    begunAt: number | undefined,
    runTime: number | undefined,
  ): void {
    if (begunAt !== undefined && runTime !== undefined) {
      this.metrics.ran(begunAt - task.enqueuedAt, runTime);
      this.#scheduler.ran(task.name, runTime);
    }
    if (!task.isCancelled) {
      if (failed) this.metrics.failed++;
      else this.metrics.completed++;
    }
    this.#over(task);
    this.workers.ran(worker);
  }

  /** Dispatches waiting tasks after a change. */
  #goOn(): void {
    this.#scheduler.dispatch();
    this.space.changed();
    this.#grow();
  }

  // --- threads ---

  #grow(): void {
    this.workers.grow(this.#scheduler);
  }

  /** Rejects all queued tasks, because no thread can be started. */
  #failAll(why: string, cause: unknown): void {
    const message = `${this._label}no thread can be started: ${why}`;
    for (const task of this.#scheduler.drain()) {
      this.metrics.failed++;
      task.settle(new ThreadEndedError(message, undefined, { cause }), true);
      this.#over(task);
    }
  }

  /** The number of tasks for which the queue has space. Each thread that is idle or not ready yet takes a task. */
  remainingSpace(): number {
    const { maxWaiting = Infinity } = this.#options;
    if (maxWaiting === Infinity) return maxWaiting;
    return maxWaiting - this.#scheduler.waiting + this.#scheduler.idle + this.workers.missing;
  }

  #refusal(): Error {
    return fullError(this._label, this.#options.maxWaiting as number);
  }

  async untilIdle(options: WaitOptions): Promise<void> {
    const request = readWait(options);
    if (this.#active === 0) return;
    await this.#drains.insert(request, undefined, (timeout) =>
      notIdle(timeout, this._label, this._active, this.waiting),
    );
  }

  /**
   * Refuses new tasks from now on, with the first reason given. Resolves when all tasks are done and all threads have
   * ended.
   */
  refuseMore(reason: unknown): Promise<void> {
    this.#closed ??= { reason };
    this.#ended ??= this.#end();
    this.space.close(reason);
    return this.#ended;
  }

  async #end(): Promise<void> {
    await this.untilIdle({});
    this.metrics.stop();
    await this.workers.end();
  }

  async terminate(reason: unknown): Promise<void> {
    const ended = this.refuseMore(reason);
    this.refuseWaiting(reason);
    for (const worker of this.workers) {
      for (const task of worker.tasks()) {
        if (worker.withdraw(task)) {
          this.#refuse(task, reason);
          continue;
        }
        if (!task.isCancelled) this.metrics.cancelled++;
        task.isCancelled = true;
        task.settle(reason, true);
        task.stream?.fail(reason);
      }
    }
    await this.workers.end();
    await ended;
  }
}
