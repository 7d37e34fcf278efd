/**
 * One call of `lock`: it waits, holds the lock with a guard, and is over.
 *
 * Invariant: an acquisition goes through these states in this order, each at most once, whatever happens
 * at the same time: a grant, an abort, a timeout, a loss and a close all find it in one of them. It
 * watches its signal and its timeout only while it waits.
 */

import { timedOut } from '../sync/errors.js';
import { giveUpOn } from '../sync/give-up.js';
import type { WaitOptions } from '../sync/options.js';
import type { LockLostError } from './errors.js';
import { type Hold, RedisGuard } from './guard.js';
import type { Metrics } from './metrics.js';
import type { Session } from './session/session.js';

/** Where acquisitions wait: among the tasks of this process, or each by itself on the server. */
export interface Queue {
  readonly session: Session;
  enter(acquisition: Acquisition): void;
  /** Takes it out, whether it waits or holds the lock. Resolves when the server knows. */
  leave(acquisition: Acquisition): Promise<void>;
}

export class Acquisition implements Hold {
  readonly keys: readonly string[];
  readonly owner: unknown;
  /** Whether to wait if the keys are not free. */
  readonly wait: boolean;
  readonly queue: Queue;
  state: 'waiting' | 'held' | 'over' = 'waiting';
  /** Given beforehand if its task had one and waits at a condition. */
  guard: RedisGuard | undefined;
  readonly #metrics: Metrics;
  readonly #resolve: (guard: RedisGuard | undefined | PromiseLike<never>) => void;
  readonly #askedAt = performance.now();
  #heldSince = 0;
  #stopWatching: (() => void) | undefined;

  constructor(
    queue: Queue,
    metrics: Metrics,
    keys: readonly string[],
    {
      owner,
      wait = true,
      guard,
    }: { readonly owner?: unknown; readonly wait?: boolean; readonly guard?: RedisGuard },
    resolve: (guard: RedisGuard | undefined | PromiseLike<never>) => void,
  ) {
    this.queue = queue;
    this.#metrics = metrics;
    this.keys = keys;
    this.owner = owner;
    this.wait = wait;
    this.guard = guard;
    this.#resolve = resolve;
  }

  /** Ends the wait early when the signal aborts or the time is over. */
  limit(options: WaitOptions): void {
    this.#stopWatching = giveUpOn(options, (reason) => this.giveUp(reason), timedOut);
  }

  get session(): Session {
    return this.queue.session;
  }

  /** Milliseconds for which it has held the lock. */
  get age(): number {
    return performance.now() - this.#heldSince;
  }

  start(token: number): void {
    this.state = 'held';
    this.#heldSince = performance.now();
    this.#metrics.waited(this.#heldSince - this.#askedAt);
    this.#stopWatching?.();
    if (this.guard === undefined) this.guard = new RedisGuard(this, token);
    else this.guard._resume(this, token);
    this.#resolve(this.guard);
  }

  /** The keys are not free, and it was not to wait. */
  miss(): void {
    this.#end();
    this.#resolve(undefined);
  }

  /** The queue has let go of it already. */
  refuse(reason: unknown): void {
    this.#end();
    this.#resolve(Promise.reject(reason));
  }

  giveUp(reason: unknown): void {
    if (this.state !== 'waiting') return;
    this.refuse(reason);
    void this.queue.leave(this);
  }

  /** The queue has let go of it already. */
  lose(error: LockLostError): void {
    this.#endHold();
    this.guard?._lose(error);
  }

  release(): Promise<void> {
    if (this.state !== 'held') return Promise.resolve();
    this.#endHold();
    return this.queue.leave(this);
  }

  #endHold(): void {
    this.state = 'over';
    this.#metrics.held(this.age);
  }

  #end(): void {
    this.state = 'over';
    this.#stopWatching?.();
  }
}
