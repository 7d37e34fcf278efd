/**
 * The public `Pool`.
 *
 * The path of a task: `admission.ts` admits it, the scheduler chooses a worker, and the worker's handle submits it. The
 * handle receives the result, settles the task and notifies the admission, which dispatches the next tasks.
 */

import { asyncDispose } from '../sync/dispose.js';
import { detached } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import { readWait } from '../sync/wait/queue.js';
import { Admission } from './admission.js';
import { PoolClosedError } from './errors.js';
import type { Inline } from './inline.js';
import { type MapOptions, map } from './map.js';
import type { PoolMetrics } from './metrics.js';
import { checkPoolOptions, type PoolOptions, type RunOptions } from './options.js';
import { proxyOf } from './proxy.js';
import { taskOf } from './task.js';
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
  /** The prefix of error messages. */
  readonly #label: string;
  readonly #tasks: Admission;
  #terminating: Promise<void> | undefined;
  #proxy: Proxied<Api> | undefined;

  /**
   * Starts `minThreads` threads; the others start when there is work.
   *
   * @throws {TypeError | RangeError} for invalid options.
   */
  constructor(options: PoolOptions = {}) {
    checkPoolOptions(options);
    this.#label = options.name === undefined ? '' : `${options.name}: `;
    this.#tasks = new Admission(options, this.#label);
  }

  /** The number of tasks that wait, in the queue or in a thread. */
  get waiting(): number {
    return this.#tasks.waiting;
  }

  /** The number of tasks that run, as far as this thread knows. */
  get running(): number {
    return this.#tasks.workers.running;
  }

  /** The number of live threads. */
  get threads(): number {
    return this.#tasks.workers.size;
  }

  /** Whether new tasks are refused: true from the first {@link close}, {@link shutdown} or {@link terminate} on. */
  get closed(): boolean {
    return this.#tasks.closed;
  }

  /** Counters and timings since the pool was created. */
  get metrics(): PoolMetrics {
    const { metrics, workers } = this.#tasks;
    return metrics.read([...workers].map(({ startedAt }) => startedAt));
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
      this.#tasks.admit(task, options);
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
      this.#tasks.remainingSpace() > 0 ? undefined : this.waitForSpace({ signal });
    const concurrency = 2 * this.#tasks.workers.max;
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
    const request = readWait(options);
    this.#tasks.refuseIfClosed();
    await this.#tasks.space.wait(request);
  }

  /**
   * Resolves when no task runs or waits. New tasks are still accepted, and `drain` waits for them too. Rejects with the
   * signal's reason, or with a `TimeoutError` after `timeout` milliseconds.
   */
  async drain(options: WaitOptions = {}): Promise<void> {
    if (!(this instanceof Pool)) throw detached('drain');
    await this.#tasks.untilIdle(options);
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
    const ended = this.#tasks.refuseMore(this.#closedError('is closed'));
    await this.#tasks.untilIdle(options);
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
    const ended = this.#tasks.refuseMore(given);
    this.#tasks.refuseWaiting(given);
    return ended;
  }

  /**
   * Terminates the threads at once, without `grace`, and resolves when they have ended. All unfinished tasks reject with
   * `reason`: any value, by default a {@link PoolClosedError}. New tasks are refused with the same reason, or with that
   * of an earlier {@link close}. A second call does nothing and returns the same promise.
   */
  terminate(reason?: unknown): Promise<void> {
    if (!(this instanceof Pool)) return Promise.reject(detached('terminate'));
    this.#terminating ??= this.#tasks.terminate(
      reason === undefined ? this.#closedError('was terminated') : reason,
    );
    return this.#terminating;
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #closedError(what: string): PoolClosedError {
    return new PoolClosedError(`${this.#label}the pool ${what}`);
  }
}
