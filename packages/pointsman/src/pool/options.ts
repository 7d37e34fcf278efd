/** The options of a pool and of its tasks, and their checks. */

import { checkCount, checkInteger, invalid } from '../sync/errors.js';
import { checkOptions, checkTimeout, checkWaitOptions } from '../sync/options.js';
import type { Transferable } from '../transport/transfer.js';
import type { WorkerLike } from '../transport/types.js';

/** A `Worker` of the web or of Node, which the pool terminates. */
export interface TerminableWorker extends WorkerLike {
  terminate(): unknown;
}

/** Options for the constructor of `Pool`. */
export interface PoolOptions {
  /**
   * The URL of the module whose exported functions the threads run, such as `new URL('./hash.js', import.meta.url)`.
   * Each thread loads it once.
   */
  readonly module?: URL | string | undefined;
  /**
   * Creates a worker whose script calls `serve`; called once for each thread. Use it instead of `module` where a bundler
   * must see the script. Pass the options of Node's `Worker`, from `resourceLimits` to `workerData`, to the worker
   * itself: the pool refuses them together with this option. The worker also names its thread.
   */
  readonly worker?: (() => TerminableWorker) | undefined;
  /**
   * Maximum number of threads, from 1 to 1,024. They start when there is work. Default: `os.availableParallelism()` or
   * `navigator.hardwareConcurrency`.
   */
  readonly threads?: number | undefined;
  /** The number of threads that the pool starts at once and keeps when idle. Default: 0. */
  readonly minThreads?: number | undefined;
  /** Milliseconds after which an idle thread beyond `minThreads` is terminated. Default: 10,000. */
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
   * Milliseconds of waiting that are worth one step of priority, so that no task starves. With `Infinity`, a steady
   * stream of higher priorities starves lower ones. Default: 1,000.
   */
  readonly ageing?: number | undefined;
  /**
   * Milliseconds that a running task has to stop after it was aborted or has timed out. Then its thread is terminated.
   * The promise of `run` rejects at once, without waiting for that. Default: 100.
   */
  readonly grace?: number | undefined;
  /**
   * The nice value of the threads, from 0 to 19, on Linux; without effect elsewhere. On an idle machine they run as fast
   * as with 0; beside other busy programs they yield. Default: 0.
   */
  readonly nice?: number | undefined;
  /**
   * Replaces a thread by a new one after this many tasks, bytes of heap, or milliseconds. The thread ends between two
   * tasks, and may first run tasks that were already submitted to it. Default: never.
   */
  readonly recycle?:
    | {
        readonly tasks?: number | undefined;
        readonly heap?: number | undefined;
        readonly age?: number | undefined;
      }
    | undefined;
  /** The memory limits of the threads; see Node's `Worker`. Without effect in browsers. */
  readonly resourceLimits?: object | undefined;
  /** The threads' `process.env`; see Node's `Worker`. Without effect in browsers. Default: a copy of this thread's. */
  readonly env?: object | symbol | undefined;
  /** Values appended to the threads' `process.argv`; see Node's `Worker`. Without effect in browsers. */
  readonly argv?: readonly unknown[] | undefined;
  /** Node's options for the threads; see Node's `Worker`. Without effect in browsers. Default: this thread's. */
  readonly execArgv?: readonly string[] | undefined;
  /** The threads' `workerData`, which is a copy; see Node's `Worker`. Without effect in browsers. */
  readonly workerData?: unknown;
  /**
   * Called with each error in a thread that belongs to no task, such as one thrown by a timer that a task started. The
   * thread is then replaced. Default: `console.error`.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** The name of the threads and the prefix of the pool's error messages. Default: `pool`, and no prefix. */
  readonly name?: string | undefined;
}

/** Options for `run`. */
export interface RunOptions {
  /**
   * Aborts the task: the promise rejects at once with the signal's reason. A task that has not begun has no effect; a
   * running task sees the abort in `task.signal` and has the pool's `grace` to stop.
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
  /** Tasks with a higher priority start first; waiting raises the priority, see `ageing`. Any finite number. Default: 0. */
  readonly priority?: number | undefined;
  /**
   * The key of the task, such as a tenant. Keys of the same priority take turns, however many tasks each has. Any value,
   * compared as `Map` keys are; tasks without a key share one queue.
   */
  readonly key?: unknown;
  /** Objects in the arguments that are moved to the thread instead of being copied. */
  readonly transfer?: readonly Transferable[] | undefined;
  /**
   * Called with each value that the task passes to `task.progress`, in order and before the result. An error that it
   * throws becomes an unhandled rejection.
   */
  readonly onProgress?: ProgressListener | undefined;
}

/** Declared as a method so that a listener may declare a narrower parameter type. */
type ProgressListener = { listen(value: unknown): void }['listen'];

export const poolDefaults = {
  idleTimeout: 10_000,
  ageing: 1_000,
  grace: 100,
  nice: 0,
  name: 'pool',
};

const LONGEST_TIMER = 2 ** 31 - 1;

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
/** Options that `worker` excludes. */
const moduleNames = ['module', 'resourceLimits', 'env', 'argv', 'execArgv', 'workerData'] as const;
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
  check('idleTimeout', idleTimeout, 0, LONGEST_TIMER);
  if (maxWaiting !== undefined) checkCount('maxWaiting', maxWaiting, 0);
  if (whenFull !== undefined && !['reject', 'drop-oldest'].includes(whenFull)) {
    throw invalid('whenFull', whenFull, '"reject" or "drop-oldest"');
  }
  if (ageing !== undefined) checkCount('ageing', ageing, 1);
  check('grace', grace, 0, LONGEST_TIMER);
  check('nice', nice, 0, 19);
  if (recycle !== undefined) {
    checkOptions(recycle, recycleNames, 'recycle');
    check('recycle.tasks', recycle.tasks, 1, LONGEST_TIMER);
    check('recycle.heap', recycle.heap, 1, Number.MAX_SAFE_INTEGER);
    check('recycle.age', recycle.age, 1, LONGEST_TIMER);
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
  for (const each of worker === undefined ? [] : moduleNames) {
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
