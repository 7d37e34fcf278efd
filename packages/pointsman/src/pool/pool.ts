/**
 * A pool of workers: what `pointsman/pool` is about.
 *
 * Invariants:
 * - Each task settles once, and has its effect at most once: what was begun is never begun again.
 * - Nothing keeps the program alive but tasks.
 *
 * A task's way: the pool admits it, the scheduler chooses a worker, the worker's handle sends it. Its
 * result comes back by the handle, which settles it and tells the pool, so that the scheduler goes on.
 */

import { asyncDispose } from '../sync/dispose.js';
import { detached, fullError, TimeoutError } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { readRequest, WaitQueue } from '../sync/wait/queue.js';
import { QueueSpace } from '../sync/wait/queue-space.js';
import { now, turnTime } from '../transport/clock.js';
import type { Stop } from './claims.js';
import { PoolClosedError, ThreadEndedError } from './errors.js';
import type { Inline } from './inline-rebuild.js';
import { WORTH_SPINNING } from './mailbox.js';
import { type MapOptions, map } from './map.js';
import { Metrics, type PoolMetrics } from './metrics.js';
import { checkPoolOptions, type PoolOptions, poolDefaults, type RunOptions } from './options.js';
import { proxyOf } from './proxy.js';
import { Scheduler } from './scheduler.js';
import { type Task, taskOf } from './task.js';
import { hasNotBegun, TaskWatch, type TaskWatcher } from './task-watch.js';
import type {
  AnyApi,
  AnyFunction,
  FunctionOf,
  InputsOf,
  NameOf,
  Proxied,
  ResultOf,
  RunArguments,
} from './types.js';
import type { WorkerHandle } from './worker-handle.js';
import { WorkerSet } from './worker-set.js';

/**
 * Runs functions of a module in threads of their own, so that this thread's event loop is free: what
 * `spawn_blocking` is to a runtime of Rust.
 *
 * Threads start when there is work, and end when there has been none for a while. Tasks begin in the
 * order in which they were run, the more urgent first; each has a thread for itself until what it returns
 * is settled. Arguments and results are copied as by structured clone when a thread gets the task: do not
 * change arguments before it is over. Errors arrive with name, message, stack, cause, code and own
 * properties.
 *
 * A task always settles. If its thread exits, runs out of memory or is killed, it rejects with a
 * {@link ThreadEndedError}, another thread takes the place, and no other task is touched.
 *
 * @example
 * ```ts
 * // main.ts
 * import { Pool } from 'pointsman/pool';
 *
 * await using pool = new Pool<typeof import('./words.js')>({
 *   module: new URL('./words.js', import.meta.url),
 * });
 * console.log(await pool.run('count', ['to be or not to be'])); // 6
 * console.log(await pool.proxy.longest('to be or not to be')); // not
 * // words.ts
 * export const count = (text: string) => text.split(' ').length;
 * export const longest = (text: string) =>
 *   text.split(' ').reduce((best, word) => (word.length > best.length ? word : best));
 * ```
 */
export class Pool<Api = AnyApi> implements AsyncDisposable {
  readonly #options: PoolOptions;
  /** What its errors begin with. */
  readonly #label: string;
  readonly #scheduler: Scheduler<Task, WorkerHandle>;
  readonly #workers: WorkerSet;
  readonly #space: QueueSpace;
  /** The waiting callers of `drain` and `shutdown`. */
  readonly #drains: WaitQueue<void>;
  readonly #metrics = new Metrics();
  /** Tasks that are not over. */
  #active = 0;
  /** The number of tasks that the pool was given so far. */
  #requests = 0;
  #closed: { readonly reason: unknown } | undefined;
  #ended: Promise<void> | undefined;
  #terminating: Promise<void> | undefined;
  #proxy: Proxied<Api> | undefined;

  /** Throws if the options cannot be used. Starts `minThreads` threads; the others start when there is work. */
  constructor(options: PoolOptions = {}) {
    checkPoolOptions(options);
    this.#options = options;
    this.#label = options.name === undefined ? '' : `${options.name}: `;
    this.#drains = new WaitQueue(this.#label);
    const requests = () => this.#requests;
    this.#space = new QueueSpace(this.#label, () => this.#left, requests);
    this.#scheduler = new Scheduler(options.ageing ?? poolDefaults.ageing);
    this.#workers = new WorkerSet(
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
        started: () => this.#metrics.threadsStarted++,
        retired: (worker) => this.#scheduler.removeWorker(worker),
        ended: (worker) => {
          this.#scheduler.removeWorker(worker);
          this.#metrics.threadEnded(worker.startedAt);
          if (!worker.isEnding) this.#metrics.threadsLost++;
        },
        cannotStart: (why, cause) => this.#failAll(why, cause),
      },
      this.#label,
    );
  }

  /** The number of tasks that wait, in the queue or in a thread. */
  get waiting(): number {
    return this.#active - this.running;
  }

  /** The number of tasks that run, as far as this thread knows. */
  get running(): number {
    return this.#workers.running;
  }

  /** The number of live threads. */
  get threads(): number {
    return this.#workers.size;
  }

  /** Whether new tasks are refused: true from the first {@link close}, {@link shutdown} or {@link terminate} on. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** What the pool has done so far. */
  get metrics(): PoolMetrics {
    return this.#metrics.read([...this.#workers].map(({ startedAt }) => startedAt));
  }

  /**
   * Runs a function of the module, or one made by `inline`, with these arguments in a thread. Rejects with
   * what it throws; with the signal's reason or a `TimeoutError` as soon as it is given up; with a
   * `DataCloneError` if an argument or the result cannot be copied; with a {@link ThreadEndedError} if its
   * thread has ended; with a {@link QueueFullError} if `maxWaiting` tasks wait; with the reason of {@link close} or
   * {@link terminate}, by default a {@link PoolClosedError}.
   *
   * A function that returns an iterator, as generators do, gives an asynchronous one. It makes a few values
   * ahead of its reader, and has its thread until it has been read to the end or left.
   */
  run<Name extends NameOf<Api>>(
    name: Name,
    ...rest: RunArguments<FunctionOf<Api, Name>>
  ): Promise<ResultOf<FunctionOf<Api, Name>>>;
  run<Fn extends AnyFunction>(fn: Inline<Fn>, ...rest: RunArguments<Fn>): Promise<ResultOf<Fn>>;
  run(
    fn: string | Inline<AnyFunction>,
    args: readonly unknown[] = [],
    options?: RunOptions,
  ): Promise<never> {
    try {
      const task = taskOf(fn, args, options);
      this.#admit(task, options);
      return task.promise as Promise<never>;
    } catch (error) {
      return Promise.reject(this instanceof Pool ? error : detached('run'));
    }
  }

  /** The functions of the module, to be called as with `run` without options: `pool.proxy.hash(password)`. */
  get proxy(): Proxied<Api> {
    this.#proxy ??= proxyOf((name, args) => this.run(name as never, args as never)) as Proxied<Api>;
    return this.#proxy;
  }

  /**
   * Runs a function for each of `inputs`, as its only argument, and gives the results in order. At most
   * `concurrency` tasks are under way or have not been read, by default twice as many as threads; inputs
   * are taken no faster, and no task is run before the queue has space for it. The first failure, leaving the loop and
   * the signal end the `map` and abort its running tasks. `timeout` and `runTimeout` apply to each task.
   *
   * ```js
   * for await (const hash of pool.map('hash', passwords)) console.log(hash);
   * ```
   */
  map<Name extends NameOf<Api>>(
    name: Name,
    inputs: InputsOf<FunctionOf<Api, Name>>,
    options?: MapOptions,
  ): AsyncIterableIterator<ResultOf<FunctionOf<Api, Name>>>;
  map<Fn extends AnyFunction>(
    fn: Inline<Fn>,
    inputs: InputsOf<Fn>,
    options?: MapOptions,
  ): AsyncIterableIterator<ResultOf<Fn>>;
  map(
    fn: string | Inline<AnyFunction>,
    inputs: Iterable<unknown> | AsyncIterable<unknown>,
    options: MapOptions = {},
  ): AsyncIterableIterator<never> {
    if (!(this instanceof Pool)) throw detached('map');
    const run = (input: unknown, runOptions: RunOptions) =>
      this.run(fn as never, [input] as never, runOptions);
    const space = (signal: AbortSignal) =>
      this.#left > 0 ? undefined : this.waitForSpace({ signal });
    const concurrency = 2 * this.#workers.most;
    return map(run, space, inputs, concurrency, options) as AsyncIterableIterator<never>;
  }

  /**
   * Resolves when the queue has space for a task, in FIFO order; at once if the pool has no `maxWaiting`. Reserves
   * nothing: run the task right away. Rejects with the signal's reason, with a `TimeoutError` after `timeout`
   * milliseconds, or with the reason of {@link close}. A `timeout` of 0 rejects unless there is space now.
   */
  async waitForSpace(options: WaitOptions = {}): Promise<void> {
    if (!(this instanceof Pool)) throw detached('waitForSpace');
    const request = readRequest(options);
    if (this.#closed) throw this.#closed.reason;
    await this.#space.wait(request);
  }

  /**
   * Resolves when no task runs or waits. New tasks are still accepted, and `drain` waits for them too. Rejects with the
   * signal's reason, or with a `TimeoutError` after `timeout` milliseconds.
   */
  async drain(options: WaitOptions = {}): Promise<void> {
    if (!(this instanceof Pool)) throw detached('drain');
    await this.#untilIdle(options);
  }

  /**
   * Shuts the pool down gracefully: refuses new tasks with a {@link PoolClosedError}, runs all waiting tasks, ends the
   * threads, and then resolves. Rejects callers that wait for space.
   *
   * `timeout` and `signal` bound only the wait of this call. When one of them ends the wait, the call rejects with a
   * `TimeoutError` that says how many tasks run and wait, or with the signal's reason. The pool stays closed to new tasks
   * and continues with its queue. {@link close} then rejects the waiting tasks, and {@link terminate} all tasks. A second
   * call waits in the same way.
   */
  async shutdown(options: WaitOptions = {}): Promise<void> {
    if (!(this instanceof Pool)) throw detached('shutdown');
    checkWaitOptions(options);
    const ended = this.#refuseMore(this.#closedError('is closed'));
    await this.#untilIdle(options);
    await ended;
  }

  /**
   * Refuses new tasks, and rejects waiting tasks and callers that wait for space, with `reason`: any value, by default a
   * {@link PoolClosedError}. Lets running tasks finish, ends the threads, and then resolves. A second call does nothing
   * and returns the same promise. After a {@link shutdown} it rejects the tasks that still wait; new tasks are refused as
   * before.
   */
  close(reason?: unknown): Promise<void> {
    if (!(this instanceof Pool)) return Promise.reject(detached('close'));
    const given = reason === undefined ? this.#closedError('is closed') : reason;
    const ended = this.#refuseMore(given);
    this.#refuseWaiting(given);
    return ended;
  }

  /**
   * Ends the threads at once, without `grace`, and resolves when they have ended. What is not over rejects
   * with `reason`, any value, by default a {@link PoolClosedError}; so does what comes later, unless the pool
   * was closed with another. A second call does nothing and returns the same promise.
   */
  terminate(reason?: unknown): Promise<void> {
    if (!(this instanceof Pool)) return Promise.reject(detached('terminate'));
    this.#terminating ??= this.#terminate(
      reason === undefined ? this.#closedError('was terminated') : reason,
    );
    return this.#terminating;
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  // --- tasks ---

  /** Lets the task wait for a thread, or gives it to one. */
  #admit(task: Task, options: RunOptions | undefined): void {
    const { signal, timeout } = options ?? {};
    if (signal?.aborted) throw signal.reason;
    if (this.#closed) throw this.#closed.reason;
    if (timeout === 0) {
      if (this.#scheduler.idle === 0) throw hasNotBegun(task.name, 0, this.#label);
      // An idle thread runs it now; it must not come back to the queue.
      task.isUnique = true;
    }
    // Time may have passed in this turn, which counts for a timeout.
    task.enqueuedAt = timeout === undefined ? turnTime() : now();
    this.#requests++;
    const isFull = this.#left <= 0;
    const drops = isFull && this.#options.whenFull === 'drop-oldest';
    if (isFull && !drops) {
      this.#metrics.cancelled++;
      throw this.#refusal();
    }
    if (signal !== undefined || timeout !== undefined || task.runTimeout !== undefined) {
      if (timeout) task.startBy = task.enqueuedAt + timeout;
      task.watch = new TaskWatch(task, options as RunOptions, this.#label, this.#watcher);
    }
    if (++this.#active === 1) this.#workers.hold(true);
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
      // It has not begun: code that an earlier task left running keeps its thread busy.
      if (task.isUnique) {
        // Its arguments have moved, so no thread can get them again.
        this.#refuse(task, hasNotBegun(task.name, task.runTimeout as number, this.#label));
      } else {
        this.#scheduler.putBack([task]);
      }
      this.#goOn();
    },
  };

  /** Rejects a task if it has not begun; returns whether it has not. */
  #refuseUnbegun(task: Task, reason: unknown): boolean {
    const { worker } = task;
    if (worker === undefined) this.#scheduler.remove(task);
    else if (!worker.withdraw(task)) return false;
    this.#refuse(task, reason);
    if (worker !== undefined) this.#goOn();
    return true;
  }

  /** Gives up a running task. */
  #stop(task: Task, stop: Stop, reason: unknown): void {
    task.isCancelled = true;
    this.#metrics.cancelled++;
    task.settle(reason, true);
    task.stopWatching();
    task.stream?.fail(reason);
    task.worker?.stop(task, stop, reason);
  }

  /** Gives up a task that no thread has. */
  #refuse(task: Task, error: unknown): void {
    this.#metrics.cancelled++;
    task.settle(error, true);
    this.#over(task);
  }

  /** Gives up all tasks that have not begun. */
  #refuseWaiting(reason: unknown): void {
    const waiting = [...this.#scheduler.drain()];
    for (const worker of this.#workers) {
      waiting.push(...worker.tasks().filter((task) => worker.withdraw(task)));
    }
    for (const task of waiting) this.#refuse(task, reason);
  }

  /** One task fewer. */
  #over(task: Task): void {
    this.#scheduler.over(task);
    if (--this.#active === 0) this.#workers.hold(false);
    this.#space.changed();
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
      this.#metrics.ran(begunAt - task.enqueuedAt, runTime);
      this.#scheduler.ran(task.name, runTime);
    }
    if (!task.isCancelled) {
      if (failed) this.#metrics.failed++;
      else this.#metrics.completed++;
    }
    this.#over(task);
    this.#workers.ran(worker);
  }

  /** Something has changed: what waits may go on. */
  #goOn(): void {
    this.#scheduler.dispatch();
    this.#space.changed();
    this.#grow();
  }

  // --- threads ---

  #grow(): void {
    this.#workers.grow(this.#scheduler);
  }

  /** No thread can be had. */
  #failAll(why: string, cause: unknown): void {
    const message = `${this.#label}no thread can be started: ${why}`;
    for (const task of this.#scheduler.drain()) {
      this.#metrics.failed++;
      task.settle(new ThreadEndedError(message, undefined, { cause }), true);
      this.#over(task);
    }
  }

  /** The number of tasks for which the queue has space. Threads that are idle or still to start take a task each. */
  get #left(): number {
    const { maxWaiting = Infinity } = this.#options;
    if (maxWaiting === Infinity) return maxWaiting;
    return maxWaiting - this.#scheduler.waiting + this.#scheduler.idle + this.#workers.missing;
  }

  #refusal(): Error {
    return fullError(this.#label, this.#options.maxWaiting as number);
  }

  #closedError(what: string): PoolClosedError {
    return new PoolClosedError(`${this.#label}the pool ${what}`);
  }

  async #untilIdle(options: WaitOptions): Promise<void> {
    const request = readRequest(options);
    if (this.#active === 0) return;
    try {
      await this.#drains.insert(request);
    } catch (error) {
      if (!(error instanceof TimeoutError) || error === request.signal?.reason) throw error;
      throw new TimeoutError(`${error.message}: ${this.running} running, ${this.waiting} waiting`);
    }
  }

  /**
   * Refuses new tasks from now on, with the first reason given. Resolves when all tasks are done and all threads have
   * ended.
   */
  #refuseMore(reason: unknown): Promise<void> {
    this.#closed ??= { reason };
    this.#ended ??= this.#end();
    this.#space.close(reason);
    return this.#ended;
  }

  async #end(): Promise<void> {
    await this.#untilIdle({});
    this.#metrics.stop();
    await this.#workers.end();
  }

  async #terminate(reason: unknown): Promise<void> {
    const ended = this.#refuseMore(reason);
    this.#refuseWaiting(reason);
    for (const worker of this.#workers) {
      for (const task of worker.tasks()) {
        if (!task.isCancelled) this.#metrics.cancelled++;
        task.isCancelled = true;
        task.settle(reason, true);
        task.stream?.fail(reason);
      }
    }
    await this.#workers.end();
    await ended;
  }
}
