/**
 * A task in the host, from the call of `run` until its worker has finished with it.
 *
 * Invariant: the promise settles once, possibly before the worker has finished: an aborted task rejects at once, and
 * occupies its worker until the task stops or the worker is terminated.
 */

import { invalid } from '../sync/errors.js';
import { captureContext, type RunInContext, runHere } from '../transport/async-context.js';
import { rejectWithCaller } from '../transport/outcome.js';
import { iterationOf } from '../transport/references.js';
import { isComposite } from '../transport/survey.js';
import { isTransferred, type Transferable } from '../transport/transfer.js';
import type { Stop } from './claims.js';
import { Inline } from './inline.js';
import { checkRunOptions, type RunOptions } from './options.js';
import type { Lane, QueuedTask } from './queue.js';
import type { Stream } from './stream.js';
import type { TaskWatch } from './task-watch.js';
import type { AnyFunction } from './types.js';

/** The options of a task that concern its submission. */
export interface TaskOptions {
  readonly progress: ((value: unknown) => void) | undefined;
  readonly transfer: readonly Transferable[];
  readonly inline: Inline<AnyFunction> | undefined;
}

/** The worker that has a task. */
export interface TaskHolder {
  /** Withdraws a task. Returns false if the worker has begun it. */
  withdraw(task: Task): boolean;
  /** Asks a running task to stop, and terminates the worker if it does not. */
  stop(task: Task, stop: Stop, reason: unknown): void;
}

export class Task implements QueuedTask {
  readonly promise: Promise<unknown>;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly options: TaskOptions | undefined;
  readonly priority: number;
  readonly key: unknown;
  /** Runs callbacks and iterators of the caller in the async context of the call of `run`. */
  readonly inContext: RunInContext;
  enqueuedAt = 0;
  /** The latest time at which it may begin, by the clock that all threads share; 0 if it may begin at any time. */
  startBy = 0;
  /** Maximum run time in milliseconds; undefined if unbounded. */
  readonly runTimeout: number | undefined;
  isSettled = false;
  /** Whether the task can be submitted only once: a part of its arguments is transferred, or is an iterator. */
  isUnique: boolean;
  /** Whether the task was cancelled while it ran. */
  isCancelled = false;
  /** The result, if it is an iterator: the task runs until the iteration ends. */
  stream: Stream | undefined = undefined;
  /** The worker that has the task, and the number of the task there. */
  worker: TaskHolder | undefined = undefined;
  number = 0;
  killTimer: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Cancels the task when its signal aborts or a timeout elapses; undefined without these options. */
  watch: TaskWatch | undefined = undefined;

  // Owned by the scheduler and the queue.
  sequence = 0;
  expectedTime = 0;
  lane: Lane | undefined = undefined;
  previous: QueuedTask | undefined = undefined;
  next: QueuedTask | undefined = undefined;
  earlier: QueuedTask | undefined = undefined;
  later: QueuedTask | undefined = undefined;

  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;

  constructor(
    name: string,
    args: readonly unknown[],
    options: TaskOptions | undefined,
    priority: number,
    key: unknown,
    runTimeout: number | undefined,
  ) {
    this.name = name;
    // A copy: the caller may change its array while the task waits.
    this.args = args.slice();
    this.options = options;
    this.priority = priority;
    this.key = key;
    this.runTimeout = runTimeout;
    // Transfers and iterators deeper in an argument are found when it is packed.
    this.isUnique = (options !== undefined && options.transfer.length > 0) || args.some(goesOnce);
    this.inContext = options !== undefined || args.some(isComposite) ? captureContext() : runHere;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Whether only the arguments have to be sent. */
  get isPlain(): boolean {
    return this.options === undefined && this.startBy === 0 && this.runTimeout === undefined;
  }

  /** Whether the task must begin when it is submitted, because its run time is measured from then. */
  get beginsAtOnce(): boolean {
    return this.runTimeout !== undefined;
  }

  /** Removes the listener and the timers that could cancel the task. */
  stopWatching(): void {
    this.watch?.stop();
  }

  /** Settles the promise that `run` returned. */
  settle(value: unknown, failed: boolean): void {
    if (this.isSettled) return;
    this.isSettled = true;
    if (this.stream === undefined) this.stopWatching();
    if (failed) this.#reject(value);
    else this.#resolve(value);
  }

  /** Rejects the promise with an error of the worker, adding the caller's stack. */
  fail(error: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.stopWatching();
    this.#resolve(rejectWithCaller(error));
  }

  /** Calls `onProgress`, unless the task has settled. */
  progressed(value: unknown): void {
    if (!this.isSettled) this.inContext(() => this.options?.progress?.(value));
  }
}

/** Makes a task of the arguments of `run`. Throws if they are invalid. */
export function taskOf(
  fn: string | Inline<AnyFunction>,
  args: readonly unknown[],
  options: RunOptions | undefined,
): Task {
  if (!Array.isArray(args)) throw invalid('args', args, 'an array of arguments');
  const inline = fn instanceof Inline ? fn : undefined;
  if (typeof fn !== 'string' && inline === undefined) {
    throw invalid('fn', fn, 'the name of a function, or inline(function)');
  }
  const name = inline === undefined ? (fn as string) : 'inline';
  if (options !== undefined) checkRunOptions(options);
  else if (inline === undefined) return new Task(name, args, undefined, 0, undefined, undefined);
  const { onProgress, transfer = [], priority = 0, key, runTimeout } = options ?? {};
  const isPlain = inline === undefined && onProgress === undefined && transfer.length === 0;
  // An error that the listener throws becomes an unhandled rejection.
  const progress = onProgress && ((value: unknown) => void (async () => onProgress(value))());
  const own: TaskOptions | undefined = isPlain ? undefined : { progress, transfer, inline };
  const bound = runTimeout === Infinity ? undefined : runTimeout;
  return new Task(name, args, own, priority, key, bound);
}

function goesOnce(arg: unknown): boolean {
  if (typeof arg !== 'object' || arg === null) return false;
  return isTransferred(arg) || iterationOf(arg) !== undefined;
}
