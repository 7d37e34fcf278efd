/** The options of a pool and of its tasks, and their checks. */

import { checkCount, checkFunction, checkInteger, checkOneOf, invalid } from '../sync/errors.js';
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

const MAX_THREADS = 1024;

type Check = (name: string, value: unknown) => void;

const isObject = (value: unknown): boolean => Object(value) === value;

function checkThat(isValid: boolean, name: string, value: unknown, expected: string): void {
  if (!isValid) throw invalid(name, value, expected);
}

/** The options of a pool, each with a check of a value that is not undefined. */
const poolChecks: Record<keyof PoolOptions, Check> = {
  module: (name, value) =>
    checkThat(
      value instanceof URL || (typeof value === 'string' && URL.canParse(value)),
      name,
      value,
      'a URL, as of new URL("./tasks.js", import.meta.url)',
    ),
  worker: (name, value) =>
    checkThat(typeof value === 'function', name, value, 'a function that makes a Worker'),
  threads: (name, value) => checkInteger(name, value, 1, MAX_THREADS),
  // Its maximum depends on `threads`: see `checkPoolOptions`.
  minThreads: () => {},
  idleTimeout: (name, value) => checkInteger(name, value, 0, LONGEST_TIMER),
  maxWaiting: (name, value) => checkCount(name, value, 0),
  whenFull: (name, value) => checkOneOf(name, value, ['reject', 'drop-oldest']),
  ageing: (name, value) => checkCount(name, value, 1),
  grace: (name, value) => checkInteger(name, value, 0, LONGEST_TIMER),
  nice: (name, value) => checkInteger(name, value, 0, 19),
  recycle: (name, value) => checkEach(value, recycleChecks, name, `${name}.`),
  resourceLimits: (name, value) => checkThat(isObject(value), name, value, 'an object'),
  env: (name, value) =>
    checkThat(typeof value === 'symbol' || isObject(value), name, value, 'an object, or SHARE_ENV'),
  argv: (name, value) => checkThat(Array.isArray(value), name, value, 'an array'),
  execArgv: (name, value) => checkThat(Array.isArray(value), name, value, 'an array of texts'),
  workerData: () => {},
  onError: checkFunction,
  name: (name, value) => checkThat(typeof value === 'string', name, value, 'a string'),
};
const recycleChecks: Record<string, Check> = {
  tasks: (name, value) => checkInteger(name, value, 1, LONGEST_TIMER),
  heap: (name, value) => checkInteger(name, value, 1, Number.MAX_SAFE_INTEGER),
  age: (name, value) => checkInteger(name, value, 1, LONGEST_TIMER),
};

/** Options that `worker` excludes. */
const moduleNames = ['module', 'resourceLimits', 'env', 'argv', 'execArgv', 'workerData'] as const;

/** Throws unless all options are in the table, with valid values. */
function checkEach(
  options: unknown,
  checks: Record<string, Check>,
  argument?: string,
  prefix = '',
): void {
  checkOptions(options, Object.keys(checks), argument);
  for (const [name, check] of Object.entries(checks)) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined) check(prefix + name, value);
  }
}

export function checkPoolOptions(options: PoolOptions): void {
  checkEach(options, poolChecks);
  const { threads = MAX_THREADS, minThreads = 0, worker } = options;
  checkInteger('minThreads', minThreads, 0, threads);
  for (const each of worker === undefined ? [] : moduleNames) {
    const value = options[each];
    if (value !== undefined) throw invalid(each, value, 'absent if there is a worker');
  }
}

export const runNames: readonly string[] = [
  'signal',
  'timeout',
  'runTimeout',
  'priority',
  'key',
  'transfer',
  'onProgress',
];

export function checkRunOptions(options: RunOptions, names = runNames): void {
  checkWaitOptions(options, names);
  const { runTimeout, priority, transfer, onProgress } = options;
  checkTimeout(runTimeout, 'runTimeout');
  if (priority !== undefined && !Number.isFinite(priority)) {
    throw invalid('priority', priority, 'a finite number', 'number');
  }
  if (transfer !== undefined) {
    checkThat(Array.isArray(transfer), 'transfer', transfer, 'an array of what is moved');
  }
  if (onProgress !== undefined) checkFunction('onProgress', onProgress);
}
