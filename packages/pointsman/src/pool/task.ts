/**
 * One task, as the host sees it: from `run` until its worker is done with it.
 *
 * Invariant: its promise settles once. That may be before the worker is done: a task that was aborted
 * rejects at once, and keeps its worker busy until it stops or the worker is ended.
 */

import { rejectWithCaller } from '../transport/outcome.js';
import { iterationOf } from '../transport/references.js';
import { isTransferred } from '../transport/transfer.js';
import type { Inline } from './inline-rebuild.js';
import type { Lane, QueuedTask } from './queue.js';
import type { Stream } from './stream.js';
import type { AnyFunction } from './types.js';
import type { WorkerHandle } from './worker-handle.js';

/** What a task asks for beyond its arguments. */
export interface Wishes {
  readonly progress: ((value: unknown) => void) | undefined;
  readonly transfer: readonly Transferable[];
  readonly inline: Inline<AnyFunction> | undefined;
}

export class Task implements QueuedTask {
  readonly promise: Promise<unknown>;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly wishes: Wishes | undefined;
  readonly priority: number;
  readonly key: unknown;
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
  worker: WorkerHandle | undefined = undefined;
  number = 0;
  killTimer: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Stops watching its signal and its time. */
  stopWatching: () => void = nothing;

  // The queue's.
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
    wishes: Wishes | undefined,
    priority: number,
    key: unknown,
  ) {
    this.name = name;
    this.args = args;
    this.wishes = wishes;
    this.priority = priority;
    this.key = key;
    // What is hidden deeper in an argument shows when it is packed.
    this.isUnique = (wishes !== undefined && wishes.transfer.length > 0) || args.some(goesOnce);
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
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
    if (!this.isSettled) this.wishes?.progress?.(value);
  }
}

function goesOnce(arg: unknown): boolean {
  if (typeof arg !== 'object' || arg === null) return false;
  return isTransferred(arg) || iterationOf(arg) !== undefined;
}

function nothing(): void {}
