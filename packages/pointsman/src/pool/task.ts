/**
 * One task, as the host sees it: from `run` until its worker is done with it.
 *
 * Invariant: its promise settles once. That may be before the worker is done: a task that was aborted
 * rejects at once, and keeps its worker busy until it stops or the worker is ended.
 */

import { invalid, TimeoutError } from '../sync/errors.js';
import { giveUpOn } from '../sync/give-up.js';
import type { WaitOptions } from '../sync/options.js';
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
  /** Runs what is passed on in the context of the call of `run`. */
  readonly inContext: RunInContext;
  enqueuedAt = 0;
  /** When it must have ended; 0 if it need not. */
  deadline = 0;
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
  /** Stops watching its signal and its time. */
  stopWatching: () => void = nothing;

  // The scheduler's, and the queue's.
  sequence = 0;
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
  ) {
    this.name = name;
    this.args = args;
    this.options = options;
    this.priority = priority;
    this.key = key;
    // What is hidden deeper in an argument shows when it is packed.
    this.isUnique = (options !== undefined && options.transfer.length > 0) || args.some(goesOnce);
    this.inContext = options !== undefined || args.some(isComposite) ? captureContext() : runHere;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /**
   * Sees that it is given up when the signal aborts or the time is over. `label`: what errors begin with.
   * Throws if nobody can listen to the signal.
   */
  watch(
    options: WaitOptions,
    label: string,
    giveUp: (task: Task, reason: unknown, stop: Stop) => void,
  ): void {
    const { timeout = Number.POSITIVE_INFINITY } = options;
    if (timeout < Number.POSITIVE_INFINITY) this.deadline = this.enqueuedAt + timeout;
    let stop: Stop = 'aborted';
    this.stopWatching = giveUpOn(
      options,
      (reason) => giveUp(this, reason, stop),
      (timeout) => {
        stop = 'timed out';
        return this.timedOut(timeout, label);
      },
    );
  }

  timedOut(timeout: number, label: string): TimeoutError {
    return new TimeoutError(`${label}${this.name}() has not ended within ${timeout} ms`);
  }

  /** Tells whoever has run it. */
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
  else if (inline === undefined) return new Task(name, args, undefined, 0, undefined);
  const { onProgress, transfer = [], priority = 0, key } = options ?? {};
  const isPlain = inline === undefined && onProgress === undefined && transfer.length === 0;
  // What a listener throws is nobody else's.
  const progress = onProgress && ((value: unknown) => void (async () => onProgress(value))());
  const own: TaskOptions | undefined = isPlain ? undefined : { progress, transfer, inline };
  return new Task(name, args, own, priority, key);
}

function goesOnce(arg: unknown): boolean {
  if (typeof arg !== 'object' || arg === null) return false;
  return isTransferred(arg) || iterationOf(arg) !== undefined;
}

function nothing(): void {}
