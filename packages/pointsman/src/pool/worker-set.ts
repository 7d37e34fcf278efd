/**
 * The workers of a pool: decides when one is started, replaced and terminated.
 *
 * Invariants:
 * - While tasks wait and the number of workers is below the maximum, a worker is starting.
 * - If no worker can be started, waiting tasks reject: no task waits for a worker that never starts.
 */

import { invalid } from '../sync/errors.js';
import { messageOf } from './errors.js';
import { type PoolOptions, poolDefaults } from './options.js';
import { type PoolWorker, poolPlatform } from './platform.js';
import { Poller } from './poller.js';
import { startThread } from './start.js';
import { WorkerHandle } from './worker-handle.js';
import type { WorkerOwner } from './worker-owner.js';

/** Milliseconds between a worker that failed to start and the next attempt, if there are other workers. */
const RESTART_PAUSE = 1_000;
/** Workers in a row that may end without having run a task, before waiting tasks reject. */
const MAX_STARTUP_FAILURES = 3;

export interface WorkerSetOwner
  extends Omit<WorkerOwner<WorkerHandle>, 'rested' | 'retire' | 'lost' | 'failedOutsideTask'> {
  /** Returns whether recent tasks were so short that polling for their results pays. */
  areTasksShort(): boolean;
  /** No worker can be started: waiting tasks must reject. */
  cannotStart(why: string, cause: unknown): void;
  started(): void;
  /** The worker accepts no more tasks. */
  retired(worker: WorkerHandle): void;
  /** The worker has ended, on request or not. */
  ended(worker: WorkerHandle): void;
}

export class WorkerSet {
  /** Maximum number of live workers. */
  readonly max: number;
  readonly #options: PoolOptions;
  readonly #owner: WorkerSetOwner;
  readonly #handleOwner: WorkerOwner<WorkerHandle>;
  readonly #label: string;
  readonly #poller: Poller | undefined;
  readonly #min: number;
  readonly #living = new Set<WorkerHandle>();
  /** The number of live workers that accept no more tasks. */
  #retiring = 0;
  #isHeld = false;
  #startupFailures = 0;
  #pausedUntil = 0;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  #ends: Promise<unknown> | undefined;

  /** `label`: the prefix of error messages. */
  constructor(options: PoolOptions, owner: WorkerSetOwner, label: string) {
    const { threads, minThreads = 0 } = options;
    this.max = threads ?? Math.max(1, poolPlatform.cores, minThreads);
    this.#options = options;
    this.#owner = owner;
    this.#handleOwner = {
      ...owner,
      rested: (worker) => this.#rested(worker),
      retire: (worker) => this.#retire(worker),
      failedOutsideTask: (error) => this.#report(error),
      lost: (worker, why, cause) => this.#lost(worker, why, cause),
    };
    if (poolPlatform.canPoll) {
      this.#poller = new Poller(
        () => this.#poll(),
        () => owner.areTasksShort() && this.running > 0,
      );
    }
    this.#label = label;
    this.#min = minThreads;
    this.#startMin();
  }

  [Symbol.iterator](): Iterator<WorkerHandle> {
    return this.#living.values();
  }

  get size(): number {
    return this.#living.size;
  }

  /** The number of workers that run a task, as far as this thread knows. */
  get running(): number {
    let running = 0;
    for (const { outstanding } of this.#living) if (outstanding > 0) running++;
    return running;
  }

  /** Receives messages without returning to the event loop. Returns whether there were any. */
  #poll(): boolean {
    let found = false;
    for (const worker of this.#living) if (worker.messages.poll()) found = true;
    return found;
  }

  /** Counts the workers that run tasks now or will soon, and how many of them are still starting. */
  #count(): { useful: number; coming: number } {
    let useful = 0;
    let coming = 0;
    for (const worker of this.#living) {
      if (worker.isRetiring) continue;
      useful++;
      if (!worker.wasReady) coming++;
    }
    return { useful, coming };
  }

  /** The number of workers that are starting or could still be started. */
  get missing(): number {
    const { useful, coming } = this.#count();
    return this.max - useful + coming;
  }

  /** Starts a worker if more tasks wait than workers are starting. */
  grow(scheduler: { readonly waiting: number }): void {
    if (this.#living.size >= this.max && this.#retiring === 0) return;
    const { waiting } = scheduler;
    if (waiting === 0 || this.#isClosed) return;
    const { useful, coming } = this.#count();
    if (useful >= this.max || coming >= waiting) return;
    if (useful > coming && performance.now() < this.#pausedUntil) return;
    this.#start();
  }

  /** The number of workers that spin. At most one per core besides the host's core: more would compete for cores. */
  get #spinning(): number {
    let spinning = 0;
    for (const { spins } of this.#living) if (spins) spinning++;
    return spinning;
  }

  #start(): boolean {
    const { worker, recycle, module, name = poolDefaults.name } = this.#options;
    this.#owner.started();
    let made: PoolWorker | undefined;
    let handle: WorkerHandle;
    try {
      made = worker ? (worker() as PoolWorker) : startThread({ ...this.#options, name });
      if (typeof made?.terminate !== 'function' || typeof made.postMessage !== 'function') {
        throw invalid('what worker() returns', made, 'a Worker with postMessage and terminate');
      }
      handle = new WorkerHandle(this.#handleOwner, made, {
        module: module === undefined ? undefined : String(module),
        nice: this.#options.nice ?? poolDefaults.nice,
        heap: recycle?.heap,
        grace: this.#options.grace ?? poolDefaults.grace,
        maxTasks: recycle?.tasks ?? Infinity,
        spins: this.#poller !== undefined && this.#spinning < poolPlatform.cores - 1,
        poller: this.#poller,
        label: this.#label,
      });
    } catch (error) {
      made?.terminate?.();
      if (this.#ready === 0) this.#owner.cannotStart(messageOf(error), error);
      return false;
    }
    this.#living.add(handle);
    handle.hold(this.#isHeld);
    return true;
  }

  get #ready(): number {
    const { useful, coming } = this.#count();
    return useful - coming;
  }

  /** Called when a worker has run a task. */
  ran(worker: WorkerHandle): void {
    this.#startupFailures = 0;
    const { recycle } = this.#options;
    if (recycle !== undefined) {
      const { tasks = Infinity, age = Infinity } = recycle;
      const isOld = performance.now() - worker.startedAt >= age;
      if (worker.completed >= tasks || isOld) this.#retire(worker);
    }
    this.#rested(worker);
  }

  #rested(worker: WorkerHandle): void {
    if (worker.outstanding > 0) return;
    if (worker.isRetiring) void worker.end('was replaced');
    else this.#watchIdle();
  }

  /** Submits no more tasks to the worker, and terminates it when it has none. */
  #retire(worker: WorkerHandle): void {
    if (worker.isRetiring) return;
    worker.isRetiring = true;
    this.#retiring++;
    this.#owner.retired(worker);
    this.#owner.returned(worker.giveBack(Infinity));
    if (worker.outstanding === 0) void worker.end('was replaced');
  }

  #lost(worker: WorkerHandle, why: string, cause: unknown): void {
    this.#living.delete(worker);
    if (worker.isRetiring) this.#retiring--;
    this.#owner.ended(worker);
    if (worker.isEnding) return;
    if (worker.completed === 0) this.#startupFailures++;
    if (!worker.wasReady) this.#pause();
    else this.#startMin();
    if (worker.wasReady && this.#startupFailures < MAX_STARTUP_FAILURES) return;
    if (this.#ready > 0) return;
    this.#startupFailures = 0;
    this.#owner.cannotStart(why, cause);
  }

  #report(error: unknown): void {
    const { onError } = this.#options;
    // An error that `onError` throws becomes an unhandled rejection.
    if (onError) void (async () => onError(error))();
    else console.error(error);
  }

  #pause(): void {
    this.#pausedUntil = performance.now() + RESTART_PAUSE;
    const timer = setTimeout(() => {
      this.#startMin();
      // Waiting tasks may need a worker.
      this.#owner.batchHandled();
    }, RESTART_PAUSE);
    (timer as { unref?(): void }).unref?.();
  }

  /** Starts workers until `minThreads` are live. */
  #startMin(): void {
    while (!this.#isClosed && this.#living.size - this.#retiring < this.#min) {
      if (!this.#start()) return;
    }
  }

  // --- idle workers ---

  #watchIdle(): void {
    if (this.#idleTimer !== undefined || this.#isClosed || this.#living.size <= this.#min) return;
    const { idleTimeout = poolDefaults.idleTimeout } = this.#options;
    this.#idleTimer = setTimeout(() => this.#endIdle(), idleTimeout);
    (this.#idleTimer as { unref?(): void }).unref?.();
  }

  /** Terminates workers that were idle since the last check. */
  #endIdle(): void {
    this.#idleTimer = undefined;
    let surplus = this.#living.size - this.#min;
    let isAnyIdle = false;
    for (const worker of [...this.#living]) {
      const isIdle = worker.outstanding === 0 && worker.isReady && !worker.isCalled;
      if (surplus > 0 && isIdle && !worker.wasUsed) {
        surplus--;
        void worker.end('had nothing to do');
        continue;
      }
      worker.wasUsed = worker.outstanding > 0 || worker.isCalled;
      isAnyIdle ||= isIdle || worker.isCalled;
    }
    if (isAnyIdle) this.#watchIdle();
  }

  /** Sets whether the workers keep the process alive: while there are tasks. */
  hold(held: boolean): void {
    this.#isHeld = held;
    for (const worker of this.#living) worker.hold(held);
  }

  /** Terminates all workers and starts no others. */
  async end(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idleTimer);
    this.#ends ??= Promise.all(
      [...this.#living].map((worker) => worker.end('was ended with the pool')),
    );
    await this.#ends;
  }
}
