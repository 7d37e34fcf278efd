/**
 * The API of the running task in its thread: {@link task}.
 *
 * Invariant: a thread runs one task at a time, from its call until its result has settled or its iteration has ended,
 * so {@link task} is never ambiguous.
 */

import { TimeoutError } from '../sync/errors.js';
import { now } from '../transport/clock.js';
import type { Claims } from './claims.js';

/** How a task that does not return to its event loop learns that it must stop. */
export interface StopSource {
  /** Absent if no memory is shared. */
  readonly claims: Claims | undefined;
  /** Receives pending messages for task `number`, where the runtime allows it: the reason may be among them. */
  receive(number: number): void;
}

const inheritedAborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted');
const inheritedReason = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'reason');

/** A task that runs in this thread. */
export class RunningTask {
  readonly number: number;
  readonly name: string;
  readonly progress: ((value: unknown) => void) | undefined;
  readonly begunAt: number;
  readonly #source: StopSource;
  /** By the clock of {@link now}; 0 if the task has no deadline. */
  readonly #deadline: number;
  #controller: AbortController | undefined;
  /** True from the beginning of the abort: aborting the controller reads the overridden `aborted`. */
  #isStopped = false;

  constructor(
    number: number,
    name: string,
    begunAt: number,
    deadline: number,
    progress: ((value: unknown) => void) | undefined,
    source: StopSource,
  ) {
    this.number = number;
    this.name = name;
    this.begunAt = begunAt;
    this.progress = progress;
    this.#deadline = deadline;
    this.#source = source;
  }

  get deadline(): number | undefined {
    return this.#deadline === 0 ? undefined : this.#deadline - now() + performance.now();
  }

  get signal(): AbortSignal {
    this.#controller ??= this.#makeController();
    return this.#controller.signal;
  }

  /** Called when the message with the reason has arrived. */
  stop(reason: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }

  /** Reads the stop word in shared memory, for a loop that never returns to the event loop. */
  #checkStop(): void {
    if (this.#isStopped) return;
    const { claims } = this.#source;
    const stop = claims?.stopOf(this.number);
    if (stop === undefined) return;
    this.#source.receive(this.number);
    // If messages arrive only through the event loop, the reason does not arrive in time.
    if (stop === 'timed out') this.stop(new TimeoutError(`${this.name}() did not end in time`));
    else this.stop(new DOMException('the task was aborted', 'AbortError'));
  }

  #makeController(): AbortController {
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = (): boolean => {
      this.#checkStop();
      return inheritedAborted?.get?.call(signal);
    };
    const reason = (): unknown => {
      this.#checkStop();
      return inheritedReason?.get?.call(signal);
    };
    Object.defineProperty(signal, 'aborted', { get: aborted });
    Object.defineProperty(signal, 'reason', { get: reason });
    Object.defineProperty(signal, 'throwIfAborted', {
      value: () => {
        if (aborted()) throw reason();
      },
    });
    return controller;
  }
}

let current: RunningTask | undefined;

export function enter(running: RunningTask | undefined): void {
  current = running;
}

function running(member: string): RunningTask {
  if (current === undefined) {
    throw new Error(
      `task.${member} exists only while a thread of a pool runs a task; this thread runs none`,
    );
  }
  return current;
}

/**
 * The task that runs in this thread, also after an `await`. Its members throw where no task runs. Code that continues
 * after its task has finished sees the next task.
 */
export interface TaskContext {
  /**
   * Aborts when the caller of `run` aborts its signal, when the pool is terminated, and when the task's `runTimeout`
   * elapses. Where memory is shared, `aborted` and `throwIfAborted()` see the abort at once, even in a loop that never
   * returns to the event loop; a check costs one atomic load. Listeners are called by the event loop. If the task does
   * not stop within the pool's `grace`, its thread is terminated.
   */
  readonly signal: AbortSignal;
  /**
   * The time at which the task's `runTimeout` elapses, in milliseconds of this thread's `performance.now()`; undefined
   * without a `runTimeout`.
   */
  readonly deadline: number | undefined;
  /** The name of the running function. */
  readonly name: string;
  /** Sends `value` to the caller's `onProgress`; does nothing if the caller gave none. Does not wait. */
  progress(value: unknown): void;
}

/**
 * The task that runs in this thread.
 *
 * ```js
 * export function sum(numbers) {
 *   let total = 0;
 *   for (const [index, number] of numbers.entries()) {
 *     task.signal.throwIfAborted();
 *     total += number;
 *     if (index % 1_000 === 0) task.progress(index / numbers.length);
 *   }
 *   return total;
 * }
 * ```
 */
export const task: TaskContext = {
  get signal() {
    return running('signal').signal;
  },
  get deadline() {
    return running('deadline').deadline;
  },
  get name() {
    return running('name').name;
  },
  progress(value) {
    running('progress').progress?.(value);
  },
};
