/**
 * One task, as the host sees it: from `run` until its thread is done with it.
 *
 * Invariant: its promise settles once. That may be before the thread is done: a task that was aborted
 * rejects at once, and keeps its thread busy until it stops or the thread is ended.
 */

import { isForeign } from '../bridge/codec/value.js';
import { iterationOf } from '../bridge/references.js';
import type { Pending } from '../bridge/side.js';
import { isTransferred } from '../transport/transfer.js';
import type { Pace } from './pace.js';
import type { Definition } from './protocol.js';
import type { Line, QueuedTask } from './queue.js';
import type { Stream } from './stream.js';
import type { Thread } from './thread.js';

/** What a task asks for beyond its arguments. */
export interface Wishes {
  readonly progress: ((value: unknown) => void) | undefined;
  readonly transfer: readonly Transferable[];
  readonly inline: (Definition & { readonly id: number }) | undefined;
}

export class Task implements Pending, QueuedTask {
  readonly promise: Promise<unknown>;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly wishes: Wishes | undefined;
  readonly priority: number;
  readonly key: unknown;
  enqueuedAt = 0;
  /** When it must have ended; 0 if it need not. */
  deadline = 0;
  /** Undoes what its signal and its timeout have set up. */
  release: (() => void) | undefined = undefined;
  settled = false;
  /** It was handed over with something in it that can be handed over only once. */
  isUnique = false;
  /** It was given up while it ran. */
  cancelled = false;
  /** What it was answered with, if it is being iterated over: it is not over until that is. */
  stream: Stream | undefined = undefined;

  /** The thread that has it, its number there, and the number of the call. */
  thread: Thread | undefined = undefined;
  number = 0;
  id = 0;
  /** How long others of its function take, and how long that was when it was handed over, in milliseconds. */
  pace: Pace | undefined = undefined;
  mean = 0;
  usual = 0;
  killTimer: ReturnType<typeof setTimeout> | undefined = undefined;

  line: Line | undefined = undefined;
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
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /**
   * Whether it is seen to have something that can be handed over only once. It is not handed over ahead, so
   * that nothing is lost when the thread ends for another task. What is hidden in an argument shows later.
   */
  get moves(): boolean {
    if (this.wishes !== undefined && this.wishes.transfer.length > 0) return true;
    return this.args.some((arg) => {
      if (typeof arg !== 'object' || arg === null || !isForeign(arg)) return false;
      return isTransferred(arg) || iterationOf(arg) !== undefined;
    });
  }

  /** The thread's answer. */
  resolve(value: unknown): void {
    (this.thread as Thread).answered(this, value, false);
  }

  reject(error: unknown): void {
    (this.thread as Thread).answered(this, error, true);
  }

  /** Tells whoever has run it. */
  settle(value: unknown, failed: boolean): void {
    if (this.settled) return;
    this.settled = true;
    this.release?.();
    if (failed) this.#reject(value);
    else this.#resolve(value);
  }
}
