/**
 * Runs tasks in a worker, one at a time and in order.
 *
 * Invariants:
 * - A task runs only after the worker has claimed it, and is claimed only after the previous task has finished.
 * - An unsent result waits only for tasks of functions that have recently been short. So a task that is slow, or ends
 *   the worker, does not delay or lose earlier results.
 */

import { captureContext } from '../transport/async-context.js';
import { now } from '../transport/clock.js';
import type { NamedFunction } from '../transport/functions.js';
import { isThenable } from '../transport/outcome.js';
import { type AnyIterator, iterationOf } from '../transport/references.js';
import type { AnyFunction } from '../transport/types.js';
import type { Claims } from './claims.js';
import { enter, RunningTask, type StopSource } from './context.js';
import { explain, rebuild } from './inline.js';
import {
  type Definition,
  ITERATED,
  ITERATES,
  RETURNED,
  THREW,
  type WireOptions,
} from './protocol.js';
import { Streaming } from './streaming.js';

/** Milliseconds for which a result may wait so that it can share a message. Row: 256 empty tasks in flight. */
const FLUSH_AFTER = 0.5;
/** Milliseconds. Results may wait for a task whose function takes no longer. Row: 20 us, 16 in flight. */
const SHORT = 0.25;
/** The factor by which a shorter task lowers the longest time of its function, so that a slow first task fades. */
const FADE = 0.99;
/** Milliseconds between two checks of the heap size, each of which costs as much as a short task. */
const HEAP_INTERVAL = 50;

/** How a runner reaches the host. */
export interface RunnerHost {
  /** Sends a record. */
  send(kind: number, id: number, a: unknown, b: unknown, c: unknown): void;
  sendError(kind: number, id: number, error: unknown, a?: unknown, c?: unknown): void;
  /** Sends the records of this turn now. */
  flush(): void;
  /** Sends a progress value of a task. */
  progress(number: number, value: unknown): void;
  /** Reports an error that belongs to no task. */
  report(error: unknown): void;
  /** Asks the host to replace this worker. */
  retire(): void;
  /** Receives messages for the running task `number`, if that is possible without returning to the event loop. */
  receive(number: number): void;
  /** Continues with {@link Runner.work}. */
  resume(): void;
}

/** A function and its recent run time. */
interface KnownFunction extends NamedFunction {
  /** The longest recent run time in milliseconds; `Infinity` before the first run. */
  longest: number;
  /** The definition of an inline function. */
  readonly definition?: Definition | undefined;
}

interface WaitingTask {
  readonly number: number;
  /** Undefined if the function is not defined in this worker. */
  readonly known: KnownFunction | undefined;
  readonly args: readonly unknown[];
  readonly options: WireOptions | undefined;
}

export class Runner {
  readonly #host: RunnerHost;
  readonly #functions: readonly KnownFunction[];
  /** Absent where no memory is shared. */
  readonly #claims: Claims | undefined;
  readonly #stops: StopSource;
  /** Returns whether the heap is so large that this worker should be replaced. */
  readonly #exceedsHeapLimit: () => boolean;
  readonly #inline = new Map<number, KnownFunction>();
  #waiting: WaitingTask[] = [];
  /** The number of the task that arrived last. */
  lastNumber = -1;
  /** The run time of the last task, in milliseconds. */
  lastTime = 0;
  #current: RunningTask | undefined;
  #function: KnownFunction | undefined;
  /** The iteration of the current task's result, if the result is an iterator. */
  #streaming: Streaming | undefined;
  #flushedAt = now();
  #endedAt = 0;
  #lookedAtHeap = 0;
  #isRetired = false;
  #isEnding = false;

  constructor(
    host: RunnerHost,
    functions: readonly NamedFunction[],
    claims: Claims | undefined,
    exceedsHeapLimit: () => boolean,
  ) {
    this.#host = host;
    this.#functions = functions.map((each) => ({ ...each, longest: Infinity }));
    this.#claims = claims;
    this.#stops = { claims, receive: (number) => host.receive(number) };
    this.#exceedsHeapLimit = exceedsHeapLimit;
  }

  /** Whether no task runs. */
  get isIdle(): boolean {
    return this.#current === undefined;
  }

  take(
    number: number,
    target: number,
    args: readonly unknown[],
    options: WireOptions | undefined,
  ): void {
    this.lastNumber = number;
    const inline = options?.inline;
    // Resolved now: a later definition may replace the function before the task runs.
    const known = inline === undefined ? this.#functions[target] : this.#inline.get(inline);
    this.#waiting.push({ number, known, args, options });
  }

  /** Runs waiting tasks until `end`, by the clock of {@link now}. Returns whether tasks are left. */
  work(end: number): boolean {
    while (this.#current === undefined && this.#waiting.length > 0 && !this.#isEnding) {
      if (this.#endedAt > end) return true;
      this.#run(this.#waiting.shift() as WaitingTask);
    }
    return false;
  }

  /** Called when this thread exits: begins no other task. */
  end(): void {
    this.#isEnding = true;
    this.#host.flush();
  }

  /** Rejects a task that cannot be run. */
  refuse(number: number, error: unknown): void {
    // Without times, because the task has not begun.
    if (this.#claims?.claim(number) !== false) this.#host.sendError(THREW, number, error);
  }

  stop(number: number, reason: unknown): void {
    if (this.#current?.number === number) this.#current.stop(reason);
  }

  /** Handles an uncaught error: fails the running task, which may have caused it, and retires the worker. */
  failed(error: unknown): void {
    const current = this.#current;
    if (current === undefined) this.#host.report(error);
    this.#retire();
    if (current === undefined) return;
    if (this.#streaming) {
      // The task finishes when its reader has received the error.
      this.#streaming.fail(error);
      return;
    }
    this.#finish(current, THREW, error);
    this.#host.resume();
  }

  #retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#host.retire();
  }

  #run({ number, known, args, options }: WaitingTask): void {
    const begunAt = now();
    const { startBy = 0, runTimeout } = options ?? {};
    // The wait has timed out: the host withdraws the task.
    if (startBy !== 0 && begunAt > startBy && this.#claims) return;
    if (known === undefined) {
      this.refuse(number, new TypeError('the function is not defined here'));
      return;
    }
    if (this.#claims?.claim(number) === false) return;
    if (known.longest > SHORT || begunAt - this.#flushedAt > FLUSH_AFTER) {
      this.#flushedAt = begunAt;
      this.#host.flush();
    }
    const progress = options?.progress
      ? (value: unknown) => this.#host.progress(number, value)
      : undefined;
    const deadline = runTimeout === undefined ? 0 : begunAt + runTimeout;
    const running = new RunningTask(number, known.name, begunAt, deadline, progress, this.#stops);
    this.#current = running;
    this.#function = known;
    enter(running);
    let result: unknown;
    let isLater: boolean;
    try {
      // In a context of its own, so that `enterWith` in this task does not affect the next one.
      // Not as a method of `known`, which an inline function would see as `this`.
      const { call } = known;
      result = captureContext()(() => call(...args));
      // `then` may be a getter that throws.
      isLater = isThenable(result);
    } catch (error) {
      this.#finish(running, THREW, error);
      return;
    }
    if (isLater) this.#await(running, result as PromiseLike<unknown>);
    else this.#settle(running, result);
  }

  /** Defines an inline function. */
  define(inline: number, definition: Definition): void {
    if (definition.clear) this.#inline.clear();
    let call: AnyFunction;
    try {
      call = rebuild(definition);
    } catch (error) {
      // A content security policy may forbid `new Function`; the computed name of a method may use a variable.
      this.defineUnreadable(inline, explain(error, definition));
      return;
    }
    this.#define(inline, call, definition);
  }

  /** Defines an inline function that cannot be built in this thread: its tasks fail with `error`. */
  defineUnreadable(inline: number, error: unknown): void {
    this.#define(inline, () => {
      throw error;
    });
  }

  #define(inline: number, call: AnyFunction, definition?: Definition): void {
    const longest = Infinity;
    this.#inline.set(inline, { name: 'inline', call, longest, definition });
  }

  /** Returns the error of the current task, explained if its function is inline. */
  #explained(error: unknown): unknown {
    const definition = this.#function?.definition;
    return definition === undefined ? error : explain(error, definition);
  }

  #await(running: RunningTask, promise: PromiseLike<unknown>): void {
    const later = (settle: () => void) => {
      // An uncaught error may have finished the task.
      if (this.#current !== running) return;
      settle();
      this.#host.resume();
    };
    Promise.resolve(promise).then(
      (value) => later(() => this.#settle(running, value)),
      (error) => later(() => this.#finish(running, THREW, error)),
    );
  }

  /** Finishes the task with its result, or begins the iteration if the result is an iterator. */
  #settle(running: RunningTask, result: unknown): void {
    let iterator: AnyIterator | undefined;
    try {
      if (typeof result === 'object' && result !== null) iterator = iterationOf(result)?.();
    } catch (error) {
      this.#finish(running, THREW, error);
      return;
    }
    if (iterator === undefined) {
      this.#finish(running, RETURNED, result);
      return;
    }
    const over = () => {
      if (this.#current !== running) return;
      this.#finish(running, ITERATED, undefined);
      this.#host.resume();
    };
    const stream = new Streaming(iterator, over, (error) => this.#explained(error));
    this.#streaming = stream;
    this.#host.send(ITERATES, running.number, undefined, stream, undefined);
  }

  #finish({ number, begunAt }: RunningTask, kind: number, value: unknown): void {
    const endedAt = now();
    this.#endedAt = endedAt;
    const time = endedAt - begunAt;
    this.lastTime = time;
    const { longest } = this.#function as KnownFunction;
    (this.#function as KnownFunction).longest =
      time > longest || longest === Infinity ? time : longest * FADE;
    this.#current = undefined;
    this.#streaming = undefined;
    enter(undefined);
    const host = this.#host;
    if (kind === THREW) host.sendError(kind, number, this.#explained(value), begunAt, time);
    else host.send(kind, number, begunAt, value, time);
    if (endedAt - this.#lookedAtHeap > HEAP_INTERVAL) {
      this.#lookedAtHeap = endedAt;
      if (this.#exceedsHeapLimit()) this.#retire();
    }
  }
}
