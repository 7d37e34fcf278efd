/**
 * The worker's side of a pool: runs the tasks that come, one at a time, in the order in which they came.
 *
 * Invariants:
 * - No task runs that was not claimed, and none is claimed before the one before it is over.
 * - A result that the host has not been told of waits for no task but of a function that has lately been
 *   short. So a task that takes long, or ends the worker, neither delays nor loses the results before it.
 */

import { captureContext } from '../transport/async-context.js';
import { now } from '../transport/clock.js';
import type { NamedFunction } from '../transport/functions.js';
import { isThenable } from '../transport/outcome.js';
import { type AnyIterator, iterationOf } from '../transport/references.js';
import type { AnyFunction } from '../transport/types.js';
import type { Claims } from './claims.js';
import { enter, RunningTask, type StopSource } from './context.js';
import { rebuild } from './inline-rebuild.js';
import {
  type Definition,
  ITERATED,
  ITERATES,
  RETURNED,
  THREW,
  type WireOptions,
} from './protocol.js';
import { Streaming } from './streaming.js';

/** Milliseconds for which results may wait for others to go along with. Row: 256 empty tasks in flight. */
const FLUSH_AFTER = 0.5;
/** Milliseconds that a function takes at most so that a result may wait for its end. Row: 20 us, 16 in flight. */
const SHORT = 0.25;
/** What is left of the longest time with each task that takes less: a slow first task is soon forgotten. */
const FADE = 0.99;
/** Milliseconds between looks at the heap, each of which costs as much as a short task. */
const HEAP_INTERVAL = 50;

/** How a runner reaches the host. */
export interface RunnerHost {
  /** Sends a record. */
  send(kind: number, id: number, a: unknown, b: unknown, c: unknown): void;
  sendError(kind: number, id: number, error: unknown, a?: unknown, c?: unknown): void;
  /** Sends now what was sent in this turn. */
  flush(): void;
  /** Passes on how far a task has come. */
  progress(number: number, value: unknown): void;
  /** Reports an error that nobody waits for. */
  report(error: unknown): void;
  /** Asks to be replaced. */
  retire(): void;
  /** Receives messages for the running task `number`, if that is possible without returning to the event loop. */
  receive(number: number): void;
  /** There may be something to do; see {@link Runner.work}. */
  resume(): void;
}

/** A function, and how long it has taken. */
interface KnownFunction extends NamedFunction {
  /** Milliseconds: the longest of the last tasks. Nobody knows of one that has not run. */
  longest: number;
}

interface WaitingTask {
  readonly number: number;
  /** Undefined if what it needs from its surroundings has not come. */
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
  /** Whether the heap has grown so much that this worker should be replaced; asked now and then. */
  readonly #exceedsHeapLimit: () => boolean;
  readonly #inline = new Map<number, KnownFunction>();
  #waiting: WaitingTask[] = [];
  /** Of the last task that has come. */
  lastNumber = -1;
  /** Milliseconds that the last task has taken. */
  lastTime = 0;
  #current: RunningTask | undefined;
  #function: KnownFunction | undefined;
  /** What it has returned, if that is iterated over. */
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
    this.#functions = functions.map((each) => ({ ...each, longest: Number.POSITIVE_INFINITY }));
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
    // Now: other functions may have taken its place when its turn has come.
    const known = inline === undefined ? this.#functions[target] : this.#inline.get(inline);
    this.#waiting.push({ number, known, args, options });
  }

  /** Runs what waits until `end`, as of {@link now}; whether there is more. */
  work(end: number): boolean {
    while (this.#current === undefined && this.#waiting.length > 0 && !this.#isEnding) {
      if (this.#endedAt > end) return true;
      this.#run(this.#waiting.shift() as WaitingTask);
    }
    return false;
  }

  /** This thread ends: no other task shall be lost with it. */
  end(): void {
    this.#isEnding = true;
    this.#host.flush();
  }

  /** A task has come that cannot be run. */
  refuse(number: number, error: unknown): void {
    // It has not begun, so it says nothing of times.
    if (this.#claims?.claim(number) !== false) this.#host.sendError(THREW, number, error);
  }

  stop(number: number, reason: unknown): void {
    if (this.#current?.number === number) this.#current.stop(reason);
  }

  /** Something has failed that nobody waits for. What runs may be to blame, and cannot be trusted. */
  failed(error: unknown): void {
    const current = this.#current;
    if (current === undefined) this.#host.report(error);
    this.#retire();
    if (current === undefined) return;
    if (this.#streaming) {
      // It is over when its reader knows.
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
    // It is too late: the host takes it back.
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
      // What a task enters with `enterWith` is for this task, and not for the next one.
      result = captureContext()(() => known.call(...args));
      // Asking may throw as well.
      isLater = isThenable(result);
    } catch (error) {
      this.#finish(running, THREW, error);
      return;
    }
    if (isLater) this.#await(running, result as PromiseLike<unknown>);
    else this.#settle(running, result);
  }

  /** A function that was written in place. */
  define(inline: number, { source, names, values, clear }: Definition): void {
    if (clear) this.#inline.clear();
    let call: AnyFunction;
    try {
      call = rebuild(source, names, values);
    } catch (error) {
      // A page may forbid to make functions of text.
      this.defineUnreadable(inline, error);
      return;
    }
    this.#define(inline, call);
  }

  /** The same for a function that cannot be built in this thread: its tasks fail. */
  defineUnreadable(inline: number, error: unknown): void {
    this.#define(inline, () => {
      throw error;
    });
  }

  #define(inline: number, call: AnyFunction): void {
    this.#inline.set(inline, { name: 'inline', call, longest: Number.POSITIVE_INFINITY });
  }

  #await(running: RunningTask, promise: PromiseLike<unknown>): void {
    const later = (settle: () => void) => {
      // A failure elsewhere may have ended it.
      if (this.#current !== running) return;
      settle();
      this.#host.resume();
    };
    Promise.resolve(promise).then(
      (value) => later(() => this.#settle(running, value)),
      (error) => later(() => this.#finish(running, THREW, error)),
    );
  }

  /** The task has its result, which may have to be iterated over. */
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
    const stream = new Streaming(iterator, () => {
      if (this.#current !== running) return;
      this.#finish(running, ITERATED, undefined);
      this.#host.resume();
    });
    this.#streaming = stream;
    this.#host.send(ITERATES, running.number, undefined, stream, undefined);
  }

  /** The task is over. */
  #finish({ number, begunAt }: RunningTask, kind: number, value: unknown): void {
    const endedAt = now();
    this.#endedAt = endedAt;
    const time = endedAt - begunAt;
    this.lastTime = time;
    const { longest } = this.#function as KnownFunction;
    (this.#function as KnownFunction).longest =
      time > longest || longest === Number.POSITIVE_INFINITY ? time : longest * FADE;
    this.#current = undefined;
    this.#streaming = undefined;
    enter(undefined);
    const host = this.#host;
    if (kind === THREW) host.sendError(kind, number, value, begunAt, time);
    else host.send(kind, number, begunAt, value, time);
    if (endedAt - this.#lookedAtHeap > HEAP_INTERVAL) {
      this.#lookedAtHeap = endedAt;
      if (this.#exceedsHeapLimit()) this.#retire();
    }
  }
}
