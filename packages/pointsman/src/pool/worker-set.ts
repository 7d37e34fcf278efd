/**
 * Which workers a pool has: when one is started, replaced and ended.
 *
 * Invariants:
 * - As long as tasks wait and fewer workers live than may, one is on its way.
 * - If none can be had, the tasks learn of it: no task waits for a worker that never comes.
 */

import { invalid } from '../sync/errors.js';
import { messageOf } from './errors.js';
import { type PoolOptions, poolDefaults } from './options.js';
import { type PoolWorker, poolPlatform } from './platform.js';
import { Poller } from './poller.js';
import { startThread } from './start.js';
import { WorkerHandle } from './worker-handle.js';
import type { WorkerOwner } from './worker-owner.js';

/** Milliseconds after a worker that could not be started until the next is, if there are others. */
const RESTART_PAUSE = 1_000;
/** Workers in a row that may end without having run anything, before the tasks learn of it. */
const MAX_STARTUP_FAILURES = 3;

export interface WorkerSetOwner
  extends Omit<WorkerOwner<WorkerHandle>, 'rested' | 'retire' | 'lost' | 'failedOutsideTask'> {
  /** Whether tasks have lately been so short that looking for their results pays. */
  areTasksShort(): boolean;
  /** No worker can be had: what waits for one fails. */
  cannotStart(why: string, cause: unknown): void;
  started(): void;
  /** It gets no more tasks. */
  retired(worker: WorkerHandle): void;
  /** It has ended, whether or not somebody asked for that. */
  ended(worker: WorkerHandle): void;
}

export class WorkerSet {
  /** The most that live at a time. */
  readonly most: number;
  readonly #options: PoolOptions;
  readonly #owner: WorkerSetOwner;
  readonly #handleOwner: WorkerOwner<WorkerHandle>;
  readonly #label: string;
  readonly #poller: Poller | undefined;
  readonly #least: number;
  readonly #living = new Set<WorkerHandle>();
  /** Of those, how many get no more tasks. */
  #retiring = 0;
  #isHeld = false;
  #startupFailures = 0;
  #pausedUntil = 0;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  #ends: Promise<unknown> | undefined;

  /** `label`: what errors begin with. */
  constructor(options: PoolOptions, owner: WorkerSetOwner, label: string) {
    const { threads, minThreads = 0 } = options;
    this.most = threads ?? Math.max(1, poolPlatform.cores, minThreads);
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
    this.#least = minThreads;
    this.#startLeast();
  }

  [Symbol.iterator](): Iterator<WorkerHandle> {
    return this.#living.values();
  }

  get size(): number {
    return this.#living.size;
  }

  /** Those that run a task, as far as this thread knows. */
  get running(): number {
    let running = 0;
    for (const { outstanding } of this.#living) if (outstanding > 0) running++;
    return running;
  }

  /** Receives what has come without a return to the event loop; whether there was anything. */
  #poll(): boolean {
    let found = false;
    for (const worker of this.#living) if (worker.poll()) found = true;
    return found;
  }

  /** Those that can run tasks, now or soon, and those of them that are still to come. */
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

  /** How many more than those that can be given tasks may come. */
  get missing(): number {
    const { useful, coming } = this.#count();
    return this.most - useful + coming;
  }

  /** Starts a worker if more tasks wait than workers are on their way. */
  grow(scheduler: { readonly waiting: number }): void {
    if (this.#living.size >= this.most && this.#retiring === 0) return;
    const { waiting } = scheduler;
    if (waiting === 0 || this.#isClosed) return;
    const { useful, coming } = this.#count();
    if (useful >= this.most || coming >= waiting) return;
    if (useful > coming && performance.now() < this.#pausedUntil) return;
    this.#start();
  }

  /** Workers that spin: more than there are cores beside the host's would take them from each other. */
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
        mostTasks: recycle?.tasks ?? Number.POSITIVE_INFINITY,
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

  /** A worker has run a task. */
  ran(worker: WorkerHandle): void {
    this.#startupFailures = 0;
    const { recycle } = this.#options;
    if (recycle !== undefined) {
      const { tasks = Number.POSITIVE_INFINITY, age = Number.POSITIVE_INFINITY } = recycle;
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

  /** Gives it nothing more, and ends it when it has nothing to do. */
  #retire(worker: WorkerHandle): void {
    if (worker.isRetiring) return;
    worker.isRetiring = true;
    this.#retiring++;
    this.#owner.retired(worker);
    this.#owner.returned(worker.giveBack(Number.POSITIVE_INFINITY));
    if (worker.outstanding === 0) void worker.end('was replaced');
  }

  #lost(worker: WorkerHandle, why: string, cause: unknown): void {
    this.#living.delete(worker);
    if (worker.isRetiring) this.#retiring--;
    this.#owner.ended(worker);
    if (worker.isEnding) return;
    if (worker.completed === 0) this.#startupFailures++;
    if (!worker.wasReady) this.#pause();
    else this.#startLeast();
    if (worker.wasReady && this.#startupFailures < MAX_STARTUP_FAILURES) return;
    if (this.#ready > 0) return;
    this.#startupFailures = 0;
    this.#owner.cannotStart(why, cause);
  }

  /** Something has failed in a worker that no task is to blame for. */
  #report(error: unknown): void {
    const { onError } = this.#options;
    // What it throws is nobody else's.
    if (onError) void (async () => onError(error))();
    else console.error(error);
  }

  #pause(): void {
    this.#pausedUntil = performance.now() + RESTART_PAUSE;
    const timer = setTimeout(() => {
      this.#startLeast();
      // Tasks may have waited for that.
      this.#owner.batchHandled();
    }, RESTART_PAUSE);
    (timer as { unref?(): void }).unref?.();
  }

  /** Sees that as many live as are kept. */
  #startLeast(): void {
    while (!this.#isClosed && this.#living.size - this.#retiring < this.#least) {
      if (!this.#start()) return;
    }
  }

  // --- idle workers ---

  #watchIdle(): void {
    if (this.#idleTimer !== undefined || this.#isClosed || this.#living.size <= this.#least) return;
    const { idleTimeout = poolDefaults.idleTimeout } = this.#options;
    this.#idleTimer = setTimeout(() => this.#endIdle(), idleTimeout);
    (this.#idleTimer as { unref?(): void }).unref?.();
  }

  /** Ends workers that had nothing to do since the last time. */
  #endIdle(): void {
    this.#idleTimer = undefined;
    let most = this.#living.size - this.#least;
    let isAnyIdle = false;
    for (const worker of [...this.#living]) {
      const isIdle = worker.outstanding === 0 && worker.isReady && !worker.isCalled;
      if (most > 0 && isIdle && !worker.wasUsed) {
        most--;
        void worker.end('had nothing to do');
        continue;
      }
      worker.wasUsed = worker.outstanding > 0 || worker.isCalled;
      isAnyIdle ||= isIdle || worker.isCalled;
    }
    if (isAnyIdle) this.#watchIdle();
  }

  /** Keeps the program alive as long as there are tasks. */
  hold(held: boolean): void {
    this.#isHeld = held;
    for (const worker of this.#living) worker.hold(held);
  }

  /** Ends all of them, and starts no others. */
  async end(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idleTimer);
    this.#ends ??= Promise.all(
      [...this.#living].map((worker) => worker.end('was ended with the pool')),
    );
    await this.#ends;
  }
}
