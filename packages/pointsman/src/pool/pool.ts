/**
 * A pool of threads: which task goes to which thread, and when.
 *
 * Invariants:
 * - Each task settles once, and has its effect at most once: what was begun is never begun again.
 * - Tasks begin in the order of the queue. A thread has a few ahead, about a millisecond of work, which
 *   come back if they wait while another thread has nothing to do, or something more urgent comes.
 * - Nothing keeps the program alive but tasks.
 *
 * The floor of a task is its promise, two frames of a ring and one exchange of a word; of a burst, one
 * wake-up each way.
 */

import { Lookout } from '../bridge/lookout.js';
import type { Side } from '../bridge/side.js';
import { invalid, TimeoutError } from '../sync/errors.js';
import { type CallOptions, checkCallOptions } from '../transport/call-options.js';
import { soon } from '../transport/event-loop.js';
import { WaitPolicy } from '../transport/wait-policy.js';
import { now, SLOTS, type Stop } from './claims.js';
import { PoolClosedError, QueueFullError, ThreadEndedError } from './errors.js';
import { Inline } from './inline-rebuild.js';
import { type MapOptions, mapOver } from './map.js';
import { Metrics, type PoolMetrics } from './metrics.js';
import { checkPoolOptions, checkRunOptions, type PoolOptions, type RunOptions } from './options.js';
import { Paces } from './pace.js';
import { type PoolWorker, poolPlatform } from './platform.js';
import type { Setup } from './protocol.js';
import { TaskQueue } from './queue.js';
import { Task, type Wishes } from './task.js';
import { Thread, type ThreadOwner } from './thread.js';
import type {
  AnyApi,
  AnyFunction,
  ArgumentsOf,
  FunctionOf,
  NameOf,
  Proxied,
  ResultOf,
} from './types.js';

/** Milliseconds after which a thread that has nothing to do takes from one that gets nowhere. */
const BALANCE = 1;
/** The same for one that is still to come: it takes some 50 to start. */
const START = 10;
/** Milliseconds after a thread that could not be started. */
const PAUSE = 1_000;
/** Threads in a row that may end without having run anything, before the tasks learn of it. */
const MOST_BARREN = 3;

const defaults = { idleTimeout: 10_000, ageing: 1_000, grace: 100, nice: 10, name: 'pool' };

/**
 * Runs functions of a module in threads of their own, so that this thread's event loop is free: what
 * `spawn_blocking` is to a runtime of Rust.
 *
 * Threads start when there is work, and end when there has been none for a while. Tasks begin in the
 * order in which they were run, the more urgent first; each has a thread for itself until what it returns
 * is settled. Arguments and results are copied as by structured clone when a thread gets the task: do not
 * change arguments before it is over. Errors arrive with name, message, stack, cause, code and own
 * properties.
 *
 * A task always settles. If its thread exits, runs out of memory or is killed, it rejects with a
 * {@link ThreadEndedError}, another thread takes the place, and no other task is touched.
 *
 * @example
 * ```ts
 * // main.ts
 * import { Pool } from 'pointsman/pool';
 *
 * await using pool = new Pool<typeof import('./words.js')>({
 *   module: new URL('./words.js', import.meta.url),
 * });
 * console.log(await pool.run('count', ['to be or not to be'])); // 6
 * console.log(await pool.proxy.longest('to be or not to be')); // not
 * // words.ts
 * export const count = (text: string) => text.split(' ').length;
 * export const longest = (text: string) =>
 *   text.split(' ').reduce((best, word) => (word.length > best.length ? word : best));
 * ```
 */
export class Pool<Api = AnyApi> implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #most: number;
  readonly #least: number;
  readonly #capacity: number;
  readonly #setup: Setup;
  readonly #queue: TaskQueue<Task>;
  readonly #threads = new Set<Thread>();
  /** Those that can be given tasks. */
  #ready: Thread[] = [];
  readonly #metrics = new Metrics();
  readonly #owner: ThreadOwner = {
    paces: new Paces(),
    ready: (thread) => this.#threadReady(thread),
    finished: (thread, task, failed, runTime) => this.#finished(thread, task, failed, runTime),
    returned: (tasks) => this.#returned(tasks),
    retire: (thread) => this.#retire(thread),
    lost: (thread, error) => this.#threadLost(thread, error),
  };
  readonly #policy = new WaitPolicy(true, ({ linger }) => this.#linger(linger));
  readonly #lookout = new Lookout(this.#policy, () =>
    this.#ready.some(({ outstanding }) => outstanding > 0),
  );
  /** Tasks that are not over. */
  #active = 0;
  /** When the tasks of this turn have come. */
  #time = 0;
  readonly #signals = new Map<
    AbortSignal,
    { readonly tasks: Set<Task>; readonly abort: () => void }
  >();
  /** Whether tasks differ in how urgent they are. */
  #mixed = false;
  #barren = 0;
  /** Until then no thread is started if there are others: the last could not be. */
  #growsFrom = 0;
  /** Milliseconds from when it was said until it is looked whether tasks should go elsewhere. */
  #balancesIn = Number.POSITIVE_INFINITY;
  #balanceTimer: ReturnType<typeof setTimeout> | undefined;
  #progress = new Map<Thread, number>();
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #awaitingRoom: (() => void)[] = [];
  /** Of those that waited for room, how many were told and may come now. */
  #invited = 0;
  #closed: PoolClosedError | undefined;
  #empty: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #proxy: Proxied<Api> | undefined;

  /** Throws if the options cannot be used. No thread is started. */
  constructor(options: PoolOptions = {}) {
    checkPoolOptions(options);
    this.#options = options;
    this.#most = options.threads ?? Math.max(1, poolPlatform.cores, options.minThreads ?? 0);
    this.#least = options.minThreads ?? 0;
    this.#capacity = options.capacity ?? Number.POSITIVE_INFINITY;
    this.#queue = new TaskQueue(options.ageing ?? defaults.ageing);
    this.#setup = {
      module: options.module === undefined ? undefined : String(options.module),
      nice: options.nice ?? defaults.nice,
      heap: options.recycle?.heap,
    };
  }

  /** Tasks that wait: for a thread, or in one. */
  get size(): number {
    return this.#active - this.running;
  }

  /** Tasks that run, as far as this thread knows. */
  get running(): number {
    let running = 0;
    for (const { outstanding } of this.#threads) running += Math.min(outstanding, 1);
    return running;
  }

  /** Threads that live. */
  get threads(): number {
    return this.#threads.size;
  }

  /** What the pool has done so far. */
  get metrics(): PoolMetrics {
    return this.#metrics.read([...this.#threads].map(({ startedAt }) => startedAt));
  }

  /**
   * Runs a function of the module, or one made by `inline`, with these arguments in a thread. Rejects with
   * what it throws; with the signal's reason or a `TimeoutError` as soon as it is given up; with a
   * `DataCloneError` if an argument or the result cannot be copied; with a {@link ThreadEndedError} if its
   * thread has ended; with a {@link QueueFullError} or a {@link PoolClosedError}.
   *
   * A function that returns an iterator, as generators do, gives an asynchronous one. It makes a few values
   * ahead of its reader, and has its thread until it has been read to the end or left.
   */
  run<Name extends NameOf<Api>>(
    name: Name,
    args?: ArgumentsOf<FunctionOf<Api, Name>>,
    options?: RunOptions,
  ): Promise<ResultOf<FunctionOf<Api, Name>>>;
  run<Fn extends AnyFunction>(
    fn: Inline<Fn>,
    args?: ArgumentsOf<Fn>,
    options?: RunOptions,
  ): Promise<ResultOf<Fn>>;
  run(
    fn: string | Inline<AnyFunction>,
    args: readonly unknown[] = [],
    options?: RunOptions,
  ): Promise<never> {
    try {
      const task = this.#make(fn, args, options);
      this.#admit(task, options);
      return task.promise as Promise<never>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The functions of the module, to be called as with `run` without options: `pool.proxy.hash(password)`. */
  get proxy(): Proxied<Api> {
    this.#proxy ??= this.#proxyOf('') as Proxied<Api>;
    return this.#proxy;
  }

  /**
   * Runs a function for each of `inputs`, as its only argument, and gives the results in order. At most
   * `concurrency` tasks are under way or have not been read, by default twice as many as threads; inputs
   * are taken no faster. What fails ends it, and aborts those that are under way; so do leaving the loop and
   * the signal. A `timeout` is that of each task.
   *
   * ```js
   * for await (const hash of pool.map('hash', passwords)) console.log(hash);
   * ```
   */
  map<Name extends NameOf<Api>>(
    name: Name,
    inputs:
      | Iterable<ArgumentsOf<FunctionOf<Api, Name>>[0]>
      | AsyncIterable<ArgumentsOf<FunctionOf<Api, Name>>[0]>,
    options?: MapOptions,
  ): AsyncIterableIterator<ResultOf<FunctionOf<Api, Name>>>;
  map<Fn extends AnyFunction>(
    fn: Inline<Fn>,
    inputs: Iterable<ArgumentsOf<Fn>[0]> | AsyncIterable<ArgumentsOf<Fn>[0]>,
    options?: MapOptions,
  ): AsyncIterableIterator<ResultOf<Fn>>;
  map(
    fn: string | Inline<AnyFunction>,
    inputs: Iterable<unknown> | AsyncIterable<unknown>,
    options: MapOptions = {},
  ): AsyncIterableIterator<never> {
    const run = (input: unknown, signal: AbortSignal) =>
      this.run(fn as never, [input] as never, { ...options, signal });
    return mapOver(run, inputs, 2 * this.#most, options) as AsyncIterableIterator<never>;
  }

  /**
   * Resolves when there is room in the queue; at once unless the pool has a `capacity`. Nothing is reserved:
   * use it right away. Who has waited longest is told first, and no more than there is room for. Rejects with
   * the signal's reason, a `TimeoutError` after `timeout` milliseconds, or a {@link PoolClosedError}.
   */
  async room(options: CallOptions = {}): Promise<void> {
    checkCallOptions(options);
    const { signal, timeout } = options;
    signal?.throwIfAborted();
    if (this.#closed) throw this.#closed;
    if (this.#room > this.#invited && this.#awaitingRoom.length === 0) return;
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        const index = this.#awaitingRoom.indexOf(wake);
        if (index >= 0) this.#awaitingRoom.splice(index, 1);
      };
      const wake = () => {
        leave();
        if (this.#closed) reject(this.#closed);
        else resolve();
      };
      const abort = () => {
        leave();
        reject(signal?.reason);
      };
      const timer =
        timeout === undefined
          ? undefined
          : setTimeout(() => {
              leave();
              reject(new TimeoutError(`there was no room within ${timeout} ms`));
            }, timeout);
      signal?.addEventListener('abort', abort);
      this.#awaitingRoom.push(wake);
    });
  }

  /**
   * Lets all tasks come to their end, ends the threads, and then resolves. Others are refused with a
   * {@link PoolClosedError} from now on, and so is who waits for room.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Ends the threads at once, without `grace`, and resolves when they have ended. What is not over rejects
   * with a {@link PoolClosedError}.
   */
  async terminate(): Promise<void> {
    this.#closed ??= new PoolClosedError('the pool is closed');
    const error = new PoolClosedError('the pool was terminated');
    const waiting: Task[] = [];
    for (let task = this.#queue.shift(); task; task = this.#queue.shift()) waiting.push(task);
    for (const thread of this.#threads) {
      for (const task of thread.takeBack(SLOTS)) waiting.push(task);
      for (const task of thread.tasks()) {
        if (!task.cancelled) this.#metrics.cancelled++;
        task.cancelled = true;
        task.settle(error, true);
        task.stream?.fail(error);
      }
    }
    for (const task of waiting) this.#refuse(task, error);
    await this.#endAll();
    await this.close();
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // --- tasks ---

  #make(
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
    if (options === undefined && inline === undefined) {
      return new Task(name, args, undefined, 0, undefined);
    }
    checkRunOptions(options ?? {});
    const { onProgress, transfer = [], priority = 0, key } = options ?? {};
    const isPlain = inline === undefined && onProgress === undefined && transfer.length === 0;
    const progress =
      onProgress &&
      ((value: unknown) => {
        // What a listener throws is nobody's else, and a task that was given up has nothing to say.
        if (!task.settled) void (async () => onProgress(value as never))();
      });
    const wishes: Wishes | undefined = isPlain ? undefined : { progress, transfer, inline };
    const task = new Task(name, args, wishes, priority, key);
    return task;
  }

  /** Lets the task wait for a thread, or gives it to one. */
  #admit(task: Task, options: RunOptions | undefined): void {
    if (this.#closed) throw this.#closed;
    const { signal, timeout } = options ?? {};
    signal?.throwIfAborted();
    // Time may have passed in this turn, which counts for a timeout.
    task.enqueuedAt = timeout === undefined ? this.#now() : now();
    const { whenFull } = this.#options;
    const isFull = this.#capacity < Number.POSITIVE_INFINITY && this.#room <= 0;
    if (signal !== undefined || timeout !== undefined) this.#limit(task, signal, timeout);
    if (++this.#active === 1) this.#hold(true);
    if (isFull && whenFull === 'reject') {
      this.#refuse(task, this.#full());
      return;
    }
    if (task.priority !== 0) this.#mixed = true;
    if (this.#mixed) this.#recall(task.priority);
    if (this.#queue.size === 0) {
      const thread = this.#threadFor(task);
      if (thread !== undefined) {
        this.#give(thread, task);
        if (thread.outstanding > 1) {
          this.#grow();
          this.#watchBalance();
        }
        return;
      }
    }
    this.#queue.push(task);
    if (isFull && whenFull === 'shed') {
      const last = this.#queue.last() as Task;
      this.#queue.remove(last);
      this.#refuse(last, this.#full());
    }
    if (this.#mixed) this.#fillAll();
    this.#grow();
  }

  /** The clock is read once for the tasks of a turn. */
  #now(): number {
    if (this.#time === 0) {
      this.#time = now();
      queueMicrotask(() => {
        this.#time = 0;
      });
    }
    return this.#time;
  }

  #limit(task: Task, signal: AbortSignal | undefined, timeout: number | undefined): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    if (signal !== undefined) this.#listen(task, signal);
    if (timeout !== undefined) {
      task.deadline = task.enqueuedAt + timeout;
      timer = setTimeout(() => {
        const error = new TimeoutError(`${task.name}() has not ended within ${timeout} ms`);
        this.#giveUp(task, error, 'timed out');
      }, timeout);
    }
    task.release = () => {
      task.release = undefined;
      clearTimeout(timer);
      if (signal !== undefined) this.#unlisten(task, signal);
    };
  }

  /** One listener for all tasks of a signal: many are taken for a leak. */
  #listen(task: Task, signal: AbortSignal): void {
    const known = this.#signals.get(signal);
    if (known !== undefined) {
      known.tasks.add(task);
      return;
    }
    const tasks = new Set([task]);
    const abort = () => {
      for (const each of tasks) this.#giveUp(each, signal.reason, 'aborted');
    };
    this.#signals.set(signal, { tasks, abort });
    signal.addEventListener('abort', abort);
  }

  #unlisten(task: Task, signal: AbortSignal): void {
    const known = this.#signals.get(signal);
    if (!known?.tasks.delete(task) || known.tasks.size > 0) return;
    this.#signals.delete(signal);
    signal.removeEventListener('abort', known.abort);
  }

  #giveUp(task: Task, reason: unknown, stop: Stop): void {
    const { thread } = task;
    if (thread === undefined) {
      this.#queue.remove(task);
      this.#refuse(task, reason);
    } else if (thread.withdraw(task)) {
      this.#refuse(task, reason);
      this.#next(thread);
    } else {
      task.cancelled = true;
      this.#metrics.cancelled++;
      task.settle(reason, true);
      task.release?.();
      task.stream?.fail(reason);
      thread.stop(task, stop, reason);
    }
  }

  /** Gives up a task that no thread has. */
  #refuse(task: Task, error: unknown): void {
    this.#metrics.cancelled++;
    task.settle(error, true);
    this.#over();
  }

  /** How many more tasks may come. */
  get #room(): number {
    // Threads that are still to come take a task each.
    let room = this.#capacity + this.#most - this.#ready.length - this.#queue.size;
    for (const thread of this.#ready) if (thread.hasRoom) room++;
    return room;
  }

  #full(): QueueFullError {
    return new QueueFullError(`${this.#queue.size} tasks are waiting, as many as may`);
  }

  /** One task fewer. */
  #over(): void {
    if (--this.#active === 0) {
      this.#mixed = false;
      this.#hold(false);
    }
    this.#tellRoom();
    if (this.#active === 0) this.#empty?.();
  }

  #tellRoom(): void {
    if (this.#awaitingRoom.length === 0) return;
    for (let room = this.#room - this.#invited; room > 0; room--) {
      const next = this.#awaitingRoom[0];
      if (next === undefined) return;
      // Until it has had its chance the room is its own.
      this.#invited++;
      soon(() => {
        this.#invited--;
        this.#tellRoom();
      });
      next();
    }
  }

  #give(thread: Thread, task: Task): void {
    try {
      thread.submit(task);
      this.#lookout.expect();
      if (thread.outstanding > 1) this.#lookout.patrol();
    } catch (error) {
      // Nothing of it has gone anywhere. A getter of its arguments may have given it up.
      if (task.settled) return;
      this.#metrics.failed++;
      task.settle(error, true);
      this.#over();
    }
  }

  #finished(thread: Thread, task: Task, failed: boolean, runTime: number | undefined): void {
    const begunAt = thread.begunAt(task);
    if (runTime !== undefined && begunAt !== undefined) {
      this.#metrics.ran(begunAt - task.enqueuedAt, runTime);
    }
    if (!task.cancelled) {
      if (failed) this.#metrics.failed++;
      else this.#metrics.completed++;
    }
    this.#over();
    this.#barren = 0;
    const { recycle } = this.#options;
    if (recycle !== undefined && !thread.retiring) {
      const { tasks = Number.POSITIVE_INFINITY, age = Number.POSITIVE_INFINITY } = recycle;
      if (thread.completed >= tasks || now() - thread.startedAt >= age) this.#retire(thread);
    }
    this.#next(thread);
  }

  /** A thread has less to do. */
  #next(thread: Thread): void {
    if (!thread.retiring) this.#fill(thread);
    else if (thread.outstanding === 0) void thread.end('was replaced');
  }

  /** Gives a thread as much ahead as it may have. */
  #fill(thread: Thread): void {
    const queue = this.#queue;
    while (queue.size > 0 && thread.hasRoom && thread.ready) {
      const task = queue.shift() as Task;
      if (task.moves && thread.outstanding > 0) {
        queue.unshift(task);
        return;
      }
      this.#give(thread, task);
    }
    this.#tellRoom();
    if (thread.outstanding === 0) this.#rest();
  }

  /** What is next must not come to wait behind a long task while another thread has nothing to do. */
  #fillAll(): void {
    const leastFirst = [...this.#ready].sort((a, b) => a.outstanding - b.outstanding);
    for (const thread of leastFirst) this.#fill(thread);
  }

  /** These have come back, and are the first again. */
  #returned(tasks: readonly Task[]): void {
    if (tasks.length === 0) return;
    for (const task of tasks) this.#queue.unshift(task);
    this.#fillAll();
    this.#grow();
  }

  /** Takes back what is less urgent than a task that comes. */
  #recall(priority: number): void {
    for (const thread of this.#ready) {
      if (thread.outstanding < 2) continue;
      for (const task of thread.takeBack(SLOTS, priority)) this.#queue.unshift(task);
    }
  }

  // --- threads ---

  /** The first that comes to it soon, else the one that has least, if it may have more. */
  #threadFor(task: Task): Thread | undefined {
    let best: Thread | undefined;
    for (const thread of this.#ready) {
      if (thread.outstanding === 0) return thread;
      if (!thread.hasRoom || task.moves) continue;
      if (thread.comesSoon) return thread;
      if (best === undefined || thread.ahead < best.ahead) best = thread;
    }
    return best;
  }

  /** Starts a thread if there is more to do than threads to do it. */
  #grow(): void {
    if (this.#ready.length >= this.#most) return;
    if (this.#ready.length > 0 && now() < this.#growsFrom) return;
    let living = 0;
    let ahead = 0;
    for (const thread of this.#threads) {
      if (!thread.retiring) living++;
      if (thread.ready && !thread.comesSoon) ahead += Math.max(0, thread.outstanding - 1);
    }
    const coming = living - this.#ready.length;
    if (living < this.#most && coming < this.#queue.size + ahead) this.#start();
  }

  #start(): void {
    const { worker, resourceLimits, name = defaults.name } = this.#options;
    this.#metrics.threadsStarted++;
    let thread: Thread;
    try {
      const made = worker ? (worker() as PoolWorker) : poolPlatform.start({ name, resourceLimits });
      if (typeof made?.terminate !== 'function')
        throw invalid('worker', made, 'to return a Worker');
      thread = new Thread(this.#owner, made, this.#setup, {
        grace: this.#options.grace ?? defaults.grace,
        mostTasks: this.#options.recycle?.tasks ?? Number.POSITIVE_INFINITY,
      });
    } catch (error) {
      this.#metrics.threadsLost++;
      if (this.#ready.length === 0) this.#failAll(error);
      return;
    }
    this.#threads.add(thread);
    thread.hold(this.#active > 0);
  }

  /** As many threads look for tasks as there are cores beside this thread's. More would take them from each other. */
  #linger(linger: number): void {
    for (const [index, { side }] of this.#ready.entries()) {
      side?.linger(index < poolPlatform.cores - 1 ? linger : 0);
    }
  }

  #threadReady(thread: Thread): void {
    this.#ready.push(thread);
    const side = thread.side as Side;
    this.#lookout.add(side);
    this.#linger(this.#policy.current.linger);
    this.#fill(thread);
    this.#grow();
  }

  #retire(thread: Thread): void {
    if (thread.retiring) return;
    thread.retiring = true;
    this.#ready = this.#ready.filter((each) => each !== thread);
    this.#linger(this.#policy.current.linger);
    this.#returned(thread.takeBack(SLOTS));
    this.#next(thread);
    this.#grow();
  }

  #threadLost(thread: Thread, error: unknown): void {
    this.#threads.delete(thread);
    if (thread.side) this.#lookout.delete(thread.side);
    this.#progress.delete(thread);
    this.#ready = this.#ready.filter((each) => each !== thread);
    this.#linger(this.#policy.current.linger);
    this.#metrics.threadEnded(thread.startedAt);
    if (!thread.isEnding) {
      this.#metrics.threadsLost++;
      if (thread.completed === 0) this.#barren++;
      if (!thread.wasReady) this.#growsFrom = now() + PAUSE;
      const isHopeless = !thread.wasReady || this.#barren >= MOST_BARREN;
      if (isHopeless && this.#ready.length === 0) {
        this.#barren = 0;
        this.#failAll(error);
      }
    }
    this.#grow();
  }

  /** No thread can be had. */
  #failAll(cause: unknown): void {
    const said = cause instanceof Error ? cause.message : String(cause);
    for (let task = this.#queue.shift(); task; task = this.#queue.shift()) {
      this.#metrics.failed++;
      task.settle(
        new ThreadEndedError(`no thread can be started: ${said}`, undefined, { cause }),
        true,
      );
      this.#over();
    }
  }

  /** A thread has nothing to do. Does another have too much, or has it had nothing for long? */
  #rest(): void {
    if (this.#ready.some(({ outstanding }) => outstanding > 1)) this.#watchBalance();
    if (this.#idleTimer === undefined && this.#threads.size > this.#least && !this.#closed) {
      const { idleTimeout = defaults.idleTimeout } = this.#options;
      this.#idleTimer = setTimeout(() => this.#shrink(), idleTimeout);
      (this.#idleTimer as { unref?(): void }).unref?.();
    }
  }

  /** Milliseconds until a thread can help: one that has nothing to do, or one that is still to come. */
  get #helpIn(): number {
    if (this.#ready.some(({ outstanding }) => outstanding === 0)) return BALANCE;
    return this.#ready.length < this.#most ? START : Number.POSITIVE_INFINITY;
  }

  /** Sees that tasks do not wait where they need not. */
  #watchBalance(): void {
    // Nothing is sooner.
    if (this.#balancesIn === BALANCE) return;
    const delay = this.#helpIn;
    if (delay >= this.#balancesIn) return;
    this.#balancesIn = delay;
    clearTimeout(this.#balanceTimer);
    for (const thread of this.#ready) this.#progress.set(thread, thread.completed);
    this.#balanceTimer = setTimeout(() => this.#balance(), delay);
  }

  /** Tasks that wait in a thread which gets nowhere go to those that can help. */
  #balance(): void {
    this.#balancesIn = Number.POSITIVE_INFINITY;
    if (this.#helpIn === Number.POSITIVE_INFINITY) return;
    for (const thread of this.#ready) {
      if (thread.outstanding < 2 || this.#progress.get(thread) !== thread.completed) continue;
      thread.isStuck = true;
      for (const task of thread.takeBack(SLOTS)) this.#queue.unshift(task);
    }
    // Also one that gave all back because it has begun none of them.
    this.#fillAll();
    this.#grow();
    if (this.#ready.some(({ outstanding }) => outstanding > 1)) this.#watchBalance();
  }

  /** Ends threads that had nothing to do since the last time. */
  #shrink(): void {
    this.#idleTimer = undefined;
    let most = this.#threads.size - this.#least;
    for (const thread of this.#ready) {
      if (most > 0 && thread.outstanding === 0 && !thread.wasUsed) {
        most--;
        void thread.end('had nothing to do');
      }
      thread.wasUsed = thread.outstanding > 0;
    }
    if (this.#ready.some(({ outstanding }) => outstanding === 0)) this.#rest();
  }

  #hold(held: boolean): void {
    for (const thread of this.#threads) thread.hold(held);
  }

  async #close(): Promise<void> {
    this.#closed ??= new PoolClosedError('the pool is closed');
    for (const wake of [...this.#awaitingRoom]) wake();
    if (this.#active > 0) {
      await new Promise<void>((resolve) => {
        this.#empty = resolve;
      });
    }
    await this.#endAll();
  }

  async #endAll(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#metrics.stop();
    await Promise.all([...this.#threads].map((thread) => thread.end('was ended with the pool')));
  }

  #proxyOf(path: string): unknown {
    const known = new Map<string, unknown>();
    return new Proxy(() => {}, {
      get: (_, name) => {
        if (typeof name === 'symbol' || name === 'then') return undefined;
        if (!known.has(name))
          known.set(name, this.#proxyOf(path === '' ? name : `${path}.${name}`));
        return known.get(name);
      },
      apply: (_target, _this, args) => this.run(path as never, args as never),
    });
  }
}
