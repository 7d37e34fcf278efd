/**
 * The public `Pool`.
 *
 * Invariants:
 * - Each task settles once and runs at most once.
 * - Only unfinished tasks keep the process alive.
 *
 * The path of a task: the pool admits it, the scheduler chooses a worker, and the worker's handle submits it. The handle
 * receives the result, settles the task and notifies the pool, which dispatches the next tasks.
 */

import { asyncDispose } from '../sync/dispose.js';
import { detached, fullError, notIdle, TimeoutError } from '../sync/errors.js';
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
 * Runs the functions of a module in worker threads, so that this thread's event loop stays free.
 *
 * Threads start when there is work, and end when they have been idle for a while. Tasks start in FIFO order, higher
 * priorities first; a task occupies its thread until its result has settled. Arguments and results are copied by
 * structured clone. The arguments are copied when the task is submitted to a thread: do not change them before the task
 * has finished. Errors arrive with name, message, stack, cause, code and own properties.
 *
 * Every task settles. If its thread exits, runs out of memory or is terminated, the task rejects with a
 * {@link ThreadEndedError}, another thread is started, and no other task is affected.
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
  /** The prefix of error messages. */
  readonly #label: string;
  readonly #scheduler: Scheduler<Task, WorkerHandle>;
  readonly #workers: WorkerSet;
  readonly #space: QueueSpace;
  /** The waiting callers of `drain` and `shutdown`. */
  readonly #drains: WaitQueue<void>;
  readonly #metrics = new Metrics();
  /** The number of unfinished tasks. */
  #active = 0;
  /** The number of tasks that the pool was given so far. */
  #requests = 0;
  #closed: { readonly reason: unknown } | undefined;
  #ended: Promise<void> | undefined;
  #terminating: Promise<void> | undefined;
  #proxy: Proxied<Api> | undefined;

  /**
   * Starts `minThreads` threads; the others start when there is work.
   *
   * @throws {TypeError | RangeError} for invalid options.
   */
  constructor(options: PoolOptions = {}) {
    checkPoolOptions(options);
    this.#options = options;
    this.#label = options.name === undefined ? '' : `${options.name}: `;
    this.#drains = new WaitQueue(this.#label);
    const requests = () => this.#requests;
    this.#space = new QueueSpace(this.#label, () => this.#left(), requests);
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

  /** Counters and timings since the pool was created. */
  get metrics(): PoolMetrics {
    return this.#metrics.read([...this.#workers].map(({ startedAt }) => startedAt));
  }

  /**
   * Runs a function of the module, or one made by `inline`, in a thread. Resolves with its result.
   *
   * Rejects with the error that the function throws; with the signal's reason or a `TimeoutError`; with a
   * `DataCloneError` if an argument or the result cannot be copied; with a {@link ThreadEndedError} if the thread ended;
   * with a {@link QueueFullError} if `maxWaiting` tasks wait; or with the reason of {@link close} or {@link terminate},
   * by default a {@link PoolClosedError}.
   *
   * If the function returns an iterator, as a generator does, the result is an async iterator. It computes a few values
   * ahead of its reader, and occupies its thread until it was read to the end or returned.
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

  /** The functions of the module as methods: `pool.proxy.hash(password)` calls `run` without options. */
  get proxy(): Proxied<Api> {
    this.#proxy ??= proxyOf((name, args) => this.run(name as never, args as never)) as Proxied<Api>;
    return this.#proxy;
  }

  /**
   * Runs a function with each of `inputs` as its only argument, and yields the results in order.
   *
   * At most `concurrency` results are pending or unread, by default twice the number of threads. Inputs are read only as
   * fast as that, and no task is run before the queue has space for it. The first error, leaving the loop, or the signal
   * ends the `map` and aborts its running tasks. `timeout` and `runTimeout` apply to each task.
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
      this.#left() > 0 ? undefined : this.waitForSpace({ signal });
    const concurrency = 2 * this.#workers.max;
    return map(run, space, inputs, concurrency, options) as AsyncIterableIterator<never>;
  }

  /**
   * Resolves when the queue has space for a task, in FIFO order; at once if the pool has no `maxWaiting`. With a
   * `maxWaiting` of 0, resolves when a task would begin at once.
   *
   * The space is reserved until the `await` of the caller has continued: no other caller of `waitForSpace` gets it, but
   * a task that is run without `waitForSpace` may take it. Run the task right away.
   *
   * Rejects with the signal's reason, with a `TimeoutError` after `timeout` milliseconds, or with the reason of
   * {@link close}. A `timeout` of 0 rejects unless there is space now.
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
   * {@link PoolClosedError}. Lets running tasks finish, ends the threads, and then resolves. A task for which a thread was
   * idle counts as running from the call of {@link run} on. A second call does nothing and returns the same promise.
   * After a {@link shutdown} it rejects the tasks that still wait; new tasks are refused as before.
   */
  close(reason?: unknown): Promise<void> {
    if (!(this instanceof Pool)) return Promise.reject(detached('close'));
    const given = reason === undefined ? this.#closedError('is closed') : reason;
    const ended = this.#refuseMore(given);
    this.#refuseWaiting(given);
    return ended;
  }

  /**
   * Terminates the threads at once, without `grace`, and resolves when they have ended. All unfinished tasks reject with
   * `reason`: any value, by default a {@link PoolClosedError}. New tasks are refused with the same reason, or with that
   * of an earlier {@link close}. A second call does nothing and returns the same promise.
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

  /** Submits a task, or queues it. Throws if the pool or the queue refuses it. */
  #admit(task: Task, options: RunOptions | undefined): void {
    const { signal, timeout } = options ?? {};
    if (signal?.aborted) throw signal.reason;
    if (this.#closed) throw this.#closed.reason;
    if (timeout === 0) {
      if (this.#scheduler.idle === 0) throw hasNotBegun(task.name, 0, this.#label);
      // An idle thread runs the task now; it must not return to the queue.
      task.isUnique = true;
    }
    // A timeout needs the exact time, not the time at which this turn began.
    task.enqueuedAt = timeout === undefined ? turnTime() : now();
    this.#requests++;
    const isFull = this.#left() <= 0;
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
      // The task has not begun: code that an earlier task left running keeps the thread busy.
      if (task.isUnique) {
        // The arguments were transferred and cannot be sent again.
        this.#refuse(task, hasNotBegun(task.name, task.runTimeout as number, this.#label));
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
    this.#metrics.cancelled++;
    task.settle(reason, true);
    task.stopWatching();
    task.stream?.fail(reason);
    task.worker?.stop(task, stop, reason);
  }

  /** Rejects a task that no thread has. */
  #refuse(task: Task, error: unknown): void {
    this.#metrics.cancelled++;
    task.settle(error, true);
    this.#over(task);
  }

  /** Rejects all tasks that wait, in the queue or in a thread behind the task that the thread runs. */
  #refuseWaiting(reason: unknown): void {
    const waiting = [...this.#scheduler.drain()];
    for (const worker of this.#workers) {
      const behind = worker.tasks().slice(1);
      waiting.push(...behind.filter((task) => worker.withdraw(task)));
    }
    for (const task of waiting) this.#refuse(task, reason);
  }

  /** Removes a finished task from the counts, and notifies callers that wait for space or for the pool to be idle. */
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

  /** Dispatches waiting tasks after a change. */
  #goOn(): void {
    this.#scheduler.dispatch();
    this.#space.changed();
    this.#grow();
  }

  // --- threads ---

  #grow(): void {
    this.#workers.grow(this.#scheduler);
  }

  /** Rejects all queued tasks, because no thread can be started. */
  #failAll(why: string, cause: unknown): void {
    const message = `${this.#label}no thread can be started: ${why}`;
    for (const task of this.#scheduler.drain()) {
      this.#metrics.failed++;
      task.settle(new ThreadEndedError(message, undefined, { cause }), true);
      this.#over(task);
    }
  }

  /** The number of tasks for which the queue has space. Each thread that is idle or not ready yet takes a task. */
  #left(): number {
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
      throw notIdle(request.timeout as number, this.#label, this.running, this.waiting);
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
        if (worker.withdraw(task)) {
          this.#refuse(task, reason);
          continue;
        }
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
