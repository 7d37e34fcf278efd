/**
 * What a task can learn and say of itself: {@link task}.
 *
 * Invariant: a thread runs one task at a time, from its call until what it returns is settled and, if
 * that is iterated over, until the iteration is over. So there is never a doubt which task is meant.
 */

import { TimeoutError } from '../sync/errors.js';
import { now } from '../transport/clock.js';
import type { Claims } from './claims.js';

/** How a task that does not return to its event loop learns that it must stop. */
export interface StopSource {
  /** Absent if no memory is shared. */
  readonly claims: Claims | undefined;
  /** Receives pending messages for task `number`, if that is possible: the reason may be among them. */
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
  /** As of {@link now}; 0 if it has none. */
  readonly #deadline: number;
  #controller: AbortController | undefined;
  /** It has been aborted, or is being aborted: the platform reads the state of the signal meanwhile. */
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

  /** A loop that never returns to the event loop sees the word in shared memory. */
  #look(): void {
    if (this.#isStopped) return;
    const { claims } = this.#source;
    const stop = claims?.stopOf(this.number);
    if (stop === undefined) return;
    this.#source.receive(this.number);
    // If messages arrive only through the event loop, the reason does not arrive in time.
    if (stop === 'timed out') this.stop(new TimeoutError(`${this.name}() has not ended in time`));
    else this.stop(new DOMException('the task was aborted', 'AbortError'));
  }

  #makeController(): AbortController {
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = (): boolean => {
      this.#look();
      return inheritedAborted?.get?.call(signal);
    };
    const reason = (): unknown => {
      this.#look();
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
      `task.${member} is about the task that a thread of a pool runs: none runs here`,
    );
  }
  return current;
}

/**
 * The task that runs in this thread, also behind an `await`. Where none runs, its members throw. What goes on
 * after its task is over would see the next one.
 */
export interface TaskContext {
  /**
   * Aborts when the caller of `run` aborts its signal, when the pool is terminated, and when the `runTimeout` of the
   * task elapses.
   * `aborted` and `throwIfAborted()` see it at once, even in a loop that never returns to the event loop,
   * for the price of one load, where memory is shared; listeners hear of it when the loop gets its turn. A
   * task that does not stop within the pool's `grace` is ended with its thread.
   */
  readonly signal: AbortSignal;
  /**
   * When the task's `runTimeout` elapses, in milliseconds of this thread's `performance.now()`. Undefined
   * if it has none.
   */
  readonly deadline: number | undefined;
  /** The name of the function that runs. */
  readonly name: string;
  /** Tells `onProgress` of whoever has run the task; nothing happens if there is none. It does not wait. */
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
