/** What a pool and its tasks can be asked for, and what is wrong with it if it cannot. */

import { checkInteger, invalid } from '../../task/errors.js';
import { checkCallOptions } from '../bridge/call-options.js';
import type { WorkerLike } from '../bridge/host.js';

export interface PoolOptions {
  /** The module whose exported functions the threads run: a URL, as of `new URL('./hash.js', import.meta.url)`. */
  readonly module?: URL | string | undefined;
  /** Starts a worker whose script calls `serve`; instead of `module`, where a bundler has to see the script. */
  readonly worker?: (() => WorkerLike) | undefined;
  /** The most threads. Default: as many as can run at a time. They start when there is work. */
  readonly threads?: number | undefined;
  /** Threads that are kept although there is nothing to do. Default: 0. */
  readonly minThreads?: number | undefined;
  /** Milliseconds after which a thread beyond `minThreads` that has nothing to do is ended. Default: 10,000. */
  readonly idleTimeout?: number | undefined;
  /** Tasks that may wait, beside those that threads have. Default: any number. */
  readonly capacity?: number | undefined;
  /**
   * What happens to a task for which there is no room: it waits nevertheless (`wait`, the default; await
   * {@link Pool.room} before a call to hold back), it is refused with a `QueueFullError` (`reject`), or the
   * newest of the least urgent is, which may be another (`shed`).
   */
  readonly whenFull?: 'wait' | 'reject' | 'shed' | undefined;
  /** Milliseconds of waiting that count as much as one step of priority. Default: 1,000. */
  readonly ageing?: number | undefined;
  /** Milliseconds that a task which was aborted has to stop, before its thread is ended. Default: 100. */
  readonly grace?: number | undefined;
  /** How much less urgent than this thread the threads are, from 0 to 19; on Linux. Default: 10. */
  readonly nice?: number | undefined;
  /** When a thread is replaced by a new one: after so many tasks, bytes of heap, or milliseconds. */
  readonly recycle?:
    | {
        readonly tasks?: number | undefined;
        readonly heap?: number | undefined;
        readonly age?: number | undefined;
      }
    | undefined;
  /** Limits of the threads' memory, as `Worker` of Node takes them. */
  readonly resourceLimits?: object | undefined;
  /** What the threads are called. Default: `pool`. */
  readonly name?: string | undefined;
}

export interface RunOptions {
  /** Gives the task up when it aborts. One that runs sees it as `task.signal`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds from the call on, waiting included; then a `TimeoutError`. */
  readonly timeout?: number | undefined;
  /** Higher goes first. Waiting makes up for it, see `ageing`. Default: 0. */
  readonly priority?: number | undefined;
  /** Whose task it is. Keys of the same priority take turns, however many tasks each has. */
  readonly key?: unknown;
  /** What is moved to the thread instead of being copied; it is part of the arguments. */
  readonly transfer?: readonly Transferable[] | undefined;
  /** Hears what the task says by `task.progress`. */
  readonly onProgress?: ((value: never) => void) | undefined;
}

const longest = 2 ** 31 - 1;

export function checkPoolOptions(options: PoolOptions): void {
  if (Object(options) !== options) throw invalid('options', options, 'an object');
  const { module, worker, threads, minThreads, idleTimeout, capacity, whenFull } = options;
  const { ageing, grace, nice, recycle, resourceLimits, name } = options;
  if (worker !== undefined) {
    if (typeof worker !== 'function')
      throw invalid('worker', worker, 'a function that makes a Worker');
    if (module !== undefined) throw invalid('module', module, 'absent if there is a worker');
  } else if (!(module instanceof URL)) {
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
  if (capacity !== Number.POSITIVE_INFINITY) check('capacity', capacity, 0, longest);
  if (whenFull !== undefined && !['wait', 'reject', 'shed'].includes(whenFull)) {
    throw invalid('whenFull', whenFull, '"wait", "reject" or "shed"');
  }
  if (ageing !== Number.POSITIVE_INFINITY) check('ageing', ageing, 1, longest);
  check('grace', grace, 0, longest);
  check('nice', nice, 0, 19);
  if (recycle !== undefined) {
    if (Object(recycle) !== recycle) throw invalid('recycle', recycle, 'an object');
    check('recycle.tasks', recycle.tasks, 1, longest);
    check('recycle.heap', recycle.heap, 1, Number.MAX_SAFE_INTEGER);
    check('recycle.age', recycle.age, 1, longest);
  }
  if (resourceLimits !== undefined && Object(resourceLimits) !== resourceLimits) {
    throw invalid('resourceLimits', resourceLimits, 'an object');
  }
  if (name !== undefined && typeof name !== 'string') throw invalid('name', name, 'a string');
}

export function checkRunOptions(options: RunOptions): void {
  checkCallOptions(options);
  const { priority, transfer, onProgress } = options;
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
