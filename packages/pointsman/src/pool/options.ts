/** What a pool and its tasks can be asked for, and what is wrong with it if it cannot. */

import { checkCount, checkInteger, invalid } from '../sync/errors.js';
import { checkOptions, checkTimeout, checkWaitOptions } from '../sync/options.js';
import type { Transferable } from '../transport/transfer.js';
import type { WorkerLike } from '../transport/types.js';

/** A `Worker` of the web or of Node, as a pool needs it: what the pool has started it also ends. */
export interface TerminableWorker extends WorkerLike {
  terminate(): unknown;
}

export interface PoolOptions {
  /**
   * The module whose exported functions the threads run: a URL, as of `new URL('./hash.js', import.meta.url)`.
   * Each thread loads it once.
   */
  readonly module?: URL | string | undefined;
  /**
   * Starts a worker whose script calls `serve`; instead of `module`, where a bundler has to see the script.
   * Called for each thread. What the threads are called is then the worker's own, and what is for `Worker` of
   * Node, from `resourceLimits` to `workerData`, is given to that and refused here.
   */
  readonly worker?: (() => TerminableWorker) | undefined;
  /**
   * The most threads, from 1 to 1,024. Default: as many as can run at a time, by
   * `os.availableParallelism()` or `navigator.hardwareConcurrency`. They start when there is work.
   */
  readonly threads?: number | undefined;
  /** Threads that are started with the pool, and kept although there is nothing to do. Default: 0. */
  readonly minThreads?: number | undefined;
  /** Milliseconds after which a thread beyond `minThreads` that has nothing to do is ended. Default: 10,000. */
  readonly idleTimeout?: number | undefined;
  /**
   * Maximum number of tasks that wait while each thread runs one. {@link Pool.waitForSpace} waits until there are
   * fewer. Default: `Infinity`.
   */
  readonly maxWaiting?: number | undefined;
  /**
   * Which task is rejected with a `QueueFullError` when `maxWaiting` tasks wait and another one arrives. `reject`, the
   * default: the new task. `drop-oldest`: of the waiting tasks of the lowest priority, the one that has waited longest,
   * or the new task if its own priority is lower.
   */
  readonly whenFull?: 'reject' | 'drop-oldest' | undefined;
  /**
   * Milliseconds of waiting that count as much as one step of priority, so that no task waits for ever.
   * With `Infinity` a less urgent task waits for as long as more urgent ones come. Default: 1,000.
   */
  readonly ageing?: number | undefined;
  /**
   * Milliseconds that a running task has to stop after it is given up, before its thread is ended. The promise of
   * `run` does not wait for that. Default: 100.
   */
  readonly grace?: number | undefined;
  /**
   * How much less urgent than others the threads are to the operating system, from 0 to 19; on Linux, and
   * elsewhere nothing. With cores to spare they are as fast as with 0; beside other busy programs they get
   * what these leave. Default: 0, as urgent as this thread.
   */
  readonly nice?: number | undefined;
  /**
   * When a thread is replaced by a new one: after so many tasks, bytes of heap, or milliseconds. It ends
   * between two tasks, and may run some that it has ahead. Default: never.
   */
  readonly recycle?:
    | {
        readonly tasks?: number | undefined;
        readonly heap?: number | undefined;
        readonly age?: number | undefined;
      }
    | undefined;
  /** Limits of the threads' memory, as `Worker` of Node takes them; in browsers nothing. */
  readonly resourceLimits?: object | undefined;
  /** The threads' `process.env`, as `Worker` of Node takes it; in browsers nothing. Default: a copy of this thread's. */
  readonly env?: object | symbol | undefined;
  /** What is added to the threads' `process.argv`, as `Worker` of Node takes it; in browsers nothing. */
  readonly argv?: readonly unknown[] | undefined;
  /** Node's options for the threads, as `Worker` of Node takes them; in browsers nothing. Default: this thread's. */
  readonly execArgv?: readonly string[] | undefined;
  /** A copy of it is the threads' `workerData`, in Node; in browsers nothing. */
  readonly workerData?: unknown;
  /**
   * Hears what fails in a thread outside of any task, as a timer that a task has left. Default: it is
   * written to `console.error`. The thread is replaced.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /**
   * What the pool is called: its threads are called so, and the messages of its own errors begin with it.
   * Default: the threads are called `pool`, and the messages begin with nothing.
   */
  readonly name?: string | undefined;
}

export interface RunOptions {
  /**
   * Gives the task up when it aborts: the promise rejects at once, with the signal's reason. A task that was
   * not begun has no effect; one that runs sees it as `task.signal`, and has the pool's `grace` to stop.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Maximum milliseconds from the call until the task begins. A task that has not begun by then is removed, without any
   * effect, and rejects with a `TimeoutError`. 0 rejects it unless a thread is idle. Default: `Infinity`. For a total
   * deadline use `signal: AbortSignal.timeout(ms)`.
   */
  readonly timeout?: number | undefined;
  /**
   * Maximum milliseconds that the task runs, from its start until its result has arrived or, for an iterator, was read
   * to the end. Then the task rejects with a `TimeoutError`, its `task.signal` aborts with the same error, and it has
   * the pool's `grace` to stop. Such a task is not handed to a thread ahead of time. Default: `Infinity`.
   */
  readonly runTimeout?: number | undefined;
  /** Higher goes first. Waiting makes up for it, see `ageing`. Default: 0. */
  readonly priority?: number | undefined;
  /**
   * Whose task it is. Keys of the same priority take turns, however many tasks each has. Any value, compared
   * as the keys of a `Map`; tasks without one are in a line together.
   */
  readonly key?: unknown;
  /** What is moved to the thread instead of being copied; it is part of the arguments. */
  readonly transfer?: readonly Transferable[] | undefined;
  /**
   * Hears what the task says by `task.progress`, in order and before the result. Its parameter may be of the
   * type that the task is known to say. What it throws is an unhandled rejection.
   */
  readonly onProgress?: ProgressListener | undefined;
}

/** As a method, whose parameter may be narrower than what it is declared with. */
type ProgressListener = { heard(value: unknown): void }['heard'];

export const poolDefaults = {
  idleTimeout: 10_000,
  ageing: 1_000,
  grace: 100,
  nice: 0,
  name: 'pool',
};

const longest = 2 ** 31 - 1;

const poolNames: ReadonlySet<string> = new Set<keyof PoolOptions>([
  'module',
  'worker',
  'threads',
  'minThreads',
  'idleTimeout',
  'maxWaiting',
  'whenFull',
  'ageing',
  'grace',
  'nice',
  'recycle',
  'resourceLimits',
  'env',
  'argv',
  'execArgv',
  'workerData',
  'onError',
  'name',
]);
/** Without effect where the program starts the workers. */
const ofModules = ['module', 'resourceLimits', 'env', 'argv', 'execArgv', 'workerData'] as const;
const recycleNames: ReadonlySet<string> = new Set(['tasks', 'heap', 'age']);

export function checkPoolOptions(options: PoolOptions): void {
  checkOptions(options, poolNames);
  const { module, worker, threads, minThreads, idleTimeout, maxWaiting, whenFull } = options;
  const { ageing, grace, nice, recycle, resourceLimits, name } = options;
  if (worker !== undefined && typeof worker !== 'function') {
    throw invalid('worker', worker, 'a function that makes a Worker');
  }
  if (module !== undefined && !(module instanceof URL)) {
    if (typeof module !== 'string' || !URL.canParse(module)) {
      throw invalid('module', module, 'a URL, as of new URL("./tasks.js", import.meta.url)');
    }
  }
  const check = (each: string, value: unknown, min: number, max: number) => {
    if (value !== undefined) checkInteger(each, value, min, max);
  };
  check('threads', threads, 1, 1024);
  check('minThreads', minThreads, 0, threads ?? 1024);
  check('idleTimeout', idleTimeout, 0, longest);
  if (maxWaiting !== undefined) checkCount('maxWaiting', maxWaiting, 0);
  if (whenFull !== undefined && !['reject', 'drop-oldest'].includes(whenFull)) {
    throw invalid('whenFull', whenFull, '"reject" or "drop-oldest"');
  }
  if (ageing !== undefined) checkCount('ageing', ageing, 1);
  check('grace', grace, 0, longest);
  check('nice', nice, 0, 19);
  if (recycle !== undefined) {
    checkOptions(recycle, recycleNames, 'recycle');
    check('recycle.tasks', recycle.tasks, 1, longest);
    check('recycle.heap', recycle.heap, 1, Number.MAX_SAFE_INTEGER);
    check('recycle.age', recycle.age, 1, longest);
  }
  if (resourceLimits !== undefined && Object(resourceLimits) !== resourceLimits) {
    throw invalid('resourceLimits', resourceLimits, 'an object');
  }
  if (name !== undefined && typeof name !== 'string') throw invalid('name', name, 'a string');
  const { env, argv, execArgv, onError } = options;
  if (env !== undefined && typeof env !== 'symbol' && Object(env) !== env) {
    throw invalid('env', env, 'an object, or SHARE_ENV');
  }
  if (argv !== undefined && !Array.isArray(argv)) throw invalid('argv', argv, 'an array');
  if (execArgv !== undefined && !Array.isArray(execArgv)) {
    throw invalid('execArgv', execArgv, 'an array of texts');
  }
  if (onError !== undefined && typeof onError !== 'function') {
    throw invalid('onError', onError, 'a function');
  }
  for (const each of worker === undefined ? [] : ofModules) {
    const value = options[each];
    if (value !== undefined) throw invalid(each, value, 'absent if there is a worker');
  }
}

export const runNames: ReadonlySet<string> = new Set([
  'signal',
  'timeout',
  'runTimeout',
  'priority',
  'key',
  'transfer',
  'onProgress',
]);

export function checkRunOptions(options: RunOptions, names = runNames): void {
  checkWaitOptions(options, names);
  const { runTimeout, priority, transfer, onProgress } = options;
  checkTimeout(runTimeout, 'runTimeout');
  if (priority !== undefined && !Number.isFinite(priority)) {
    throw invalid('priority', priority, 'a finite number', 'number');
  }
  if (transfer !== undefined && !Array.isArray(transfer)) {
    throw invalid('transfer', transfer, 'an array of what is moved');
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw invalid('onProgress', onProgress, 'a function');
  }
}
