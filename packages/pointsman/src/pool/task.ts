/**
 * One task, as the host sees it: from `run` until its worker is done with it.
 *
 * Invariant: its promise settles once. That may be before the worker is done: a task that was aborted
 * rejects at once, and keeps its worker busy until it stops or the worker is ended.
 */

import { invalid } from '../sync/errors.js';
import { captureContext, type RunInContext, runHere } from '../transport/async-context.js';
import { rejectWithCaller } from '../transport/outcome.js';
import { iterationOf } from '../transport/references.js';
import { isComposite } from '../transport/survey.js';
import { isTransferred, type Transferable } from '../transport/transfer.js';
import type { Stop } from './claims.js';
import { Inline } from './inline-rebuild.js';
import { checkRunOptions, type RunOptions } from './options.js';
import type { Lane, QueuedTask } from './queue.js';
import type { Stream } from './stream.js';
import type { TaskWatch } from './task-watch.js';
import type { AnyFunction } from './types.js';

/** What a task asks for beyond its arguments. */
export interface TaskOptions {
  readonly progress: ((value: unknown) => void) | undefined;
  readonly transfer: readonly Transferable[];
  readonly inline: Inline<AnyFunction> | undefined;
}

/** The worker that has a task. */
export interface TaskHolder {
  /** Takes a task back that was not begun; whether it was not. */
  withdraw(task: Task): boolean;
  /** Asks a task that runs to stop, and sees that it does. */
  stop(task: Task, stop: Stop, reason: unknown): void;
}

export class Task implements QueuedTask {
  readonly promise: Promise<unknown>;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly options: TaskOptions | undefined;
  readonly priority: number;
  readonly key: unknown;
  /** Runs callbacks and iterators of the caller in the asynchronous context of the call of `run`. */
  readonly inContext: RunInContext;
  enqueuedAt = 0;
  /** The latest time at which it may begin, by the clock that all threads share; 0 if it may begin at any time. */
  startBy = 0;
  /** Maximum run time in milliseconds; undefined if unbounded. */
  readonly runTimeout: number | undefined;
  isSettled = false;
  /** It can be handed over only once: something in its arguments moves, or is iterated over. */
  isUnique: boolean;
  /** It was given up while it ran. */
  isCancelled = false;
  /** What it was answered with, if it is being iterated over: it is not over until that is. */
  stream: Stream | undefined = undefined;
  /** The worker that has it, and its number there. */
  worker: TaskHolder | undefined = undefined;
  number = 0;
  killTimer: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Gives the task up when its signal aborts or a timeout elapses; undefined if it has neither. */
  watch: TaskWatch | undefined = undefined;

  // The scheduler's, and the queue's.
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
    // The task may wait, be taken back and be handed over again. Meanwhile the caller may change its list.
    this.args = args.slice();
    this.options = options;
    this.priority = priority;
    this.key = key;
    this.runTimeout = runTimeout;
    // What is hidden deeper in an argument shows when it is packed.
    this.isUnique = (options !== undefined && options.transfer.length > 0) || args.some(goesOnce);
    this.inContext = options !== undefined || args.some(isComposite) ? captureContext() : runHere;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Whether it has no options: only arguments have to be sent. */
  get isPlain(): boolean {
    return this.options === undefined && this.startBy === 0 && this.runTimeout === undefined;
  }

  /** Whether a worker must begin it as soon as it gets it, so that this thread knows when it begins. */
  get beginsAtOnce(): boolean {
    return this.runTimeout !== undefined;
  }

  /** Removes the listener and the timers that could give the task up. */
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

  /** The worker says that it has failed. */
  fail(error: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.stopWatching();
    this.#resolve(rejectWithCaller(error));
  }

  /** It has said how far it has come. */
  progressed(value: unknown): void {
    // A task that was given up has nothing to say.
    if (!this.isSettled) this.inContext(() => this.options?.progress?.(value));
  }
}

/** What `run` was given, as a task; throws if it cannot be one. */
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
  // What a listener throws is nobody else's.
  const progress = onProgress && ((value: unknown) => void (async () => onProgress(value))());
  const own: TaskOptions | undefined = isPlain ? undefined : { progress, transfer, inline };
  const bound = runTimeout === Number.POSITIVE_INFINITY ? undefined : runTimeout;
  return new Task(name, args, own, priority, key, bound);
}

function goesOnce(arg: unknown): boolean {
  if (typeof arg !== 'object' || arg === null) return false;
  return isTransferred(arg) || iterationOf(arg) !== undefined;
}
