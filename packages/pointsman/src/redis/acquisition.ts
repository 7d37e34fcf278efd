/**
 * One call of `lock`: it waits, holds the lock with a guard, and is over.
 *
 * Invariant: an acquisition goes through these states in this order, each at most once, whatever happens
 * at the same time: a grant, an abort, a timeout, a loss and a close all find it in one of them. It
 * watches its signal and its timeout only while it waits, and `maxHold` only while it holds the lock.
 */

import { TimeoutError } from '../sync/errors.js';
import type { WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { LockLostError } from './errors.js';
import { type Hold, RedisGuard } from './guard.js';
import type { Metrics } from './metrics.js';
import type { Session } from './session/session.js';
import { Share } from './share.js';

/** Where acquisitions wait: among the tasks of this process, or each by itself on the server. */
export interface Queue {
  readonly session: Session;
  enter(acquisition: Acquisition): void;
  /** Takes it out, whether it waits or holds the lock. Resolves when the server knows. */
  leave(acquisition: Acquisition): Promise<void>;
}

/** What an acquisition may be told. */
interface Terms {
  readonly owner?: unknown;
  readonly wait?: boolean;
  readonly maxHold?: number | undefined;
  readonly guard?: RedisGuard;
}

export class Acquisition implements Hold {
  readonly keys: readonly string[];
  readonly owner: unknown;
  /** Whether to wait if the keys are not free. */
  readonly wait: boolean;
  /** Milliseconds after which it ends by itself. */
  readonly maxHold: number | undefined;
  readonly queue: Queue;
  state: 'waiting' | 'held' | 'over' = 'waiting';
  /** Given beforehand if its task had one and waits at a condition. */
  guard: RedisGuard | undefined;
  readonly #metrics: Metrics;
  readonly #resolve: (guard: RedisGuard | undefined | PromiseLike<never>) => void;
  readonly #askedAt = performance.now();
  #heldSince = 0;
  #stopWatching: (() => void) | undefined;
  /** There are none before its owner has locked its keys again. */
  #shares: Set<Share> | undefined;

  constructor(
    queue: Queue,
    metrics: Metrics,
    keys: readonly string[],
    { owner, wait = true, maxHold, guard }: Terms,
    resolve: (guard: RedisGuard | undefined | PromiseLike<never>) => void,
  ) {
    this.queue = queue;
    this.#metrics = metrics;
    this.keys = keys;
    this.owner = owner;
    this.wait = wait;
    this.maxHold = maxHold;
    this.guard = guard;
    this.#resolve = resolve;
    metrics.activity.count(1, 0);
  }

  /** Ends the wait early when the signal aborts or the time is over. */
  limit(options: WaitOptions): void {
    try {
      this.#stopWatching = giveUpOn(
        options,
        (reason) => this.giveUp(reason),
        (timeout) => this.timedOut(timeout),
      );
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  timedOut(timeout: number): TimeoutError {
    return new TimeoutError(`${this.session.label}timed out after ${timeout} ms`);
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
    this.#metrics.activity.count(-1, 1);
    this.#heldSince = performance.now();
    this.#metrics.waited(this.#heldSince - this.#askedAt);
    this.#stopWatching?.();
    if (this.maxHold !== undefined) this.#limitHold(this.maxHold);
    if (this.guard === undefined) this.guard = new RedisGuard(this, token);
    else this.guard._resume(this, token);
    this.#resolve(this.guard);
  }

  #limitHold(maxHold: number): void {
    this.#stopWatching = giveUpOn(
      { timeout: maxHold },
      (error) => this.takeAway(error as LockLostError),
      () => this.#tooLong(),
    );
  }

  #tooLong(): LockLostError {
    const { label } = this.session;
    return new LockLostError(
      `${label}the lock was held for longer than maxHold, ${this.maxHold} ms`,
    );
  }

  get shares(): number {
    return this.#shares?.size ?? 1;
  }

  /**
   * Another guard, for an owner that has locked some of the keys again. Throws if the lock is lost: who
   * has lost what it is under is told so, and does not get a later one.
   */
  share(keys: readonly string[]): RedisGuard {
    const [other] = this.#shares ?? [];
    (other ?? this).guard?.assertValid();
    const { token } = this.guard as RedisGuard;
    if (this.#shares === undefined) {
      this.#shares = new Set();
      new Share(this, this.#shares, this.keys, token, this.guard);
    }
    return new Share(this, this.#shares, keys, token).guard;
  }

  check(): boolean {
    // The timer may be late.
    const over = this.maxHold !== undefined && this.age >= this.maxHold;
    if (over) this.takeAway(this.#tooLong());
    return this.state === 'held' && this.session.checkLease();
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
    void this.queue.leave(this);
    this.refuse(reason);
  }

  /** The queue has let go of it already. */
  lose(error: LockLostError): void {
    this.#endHold();
    if (this.#shares === undefined) this.guard?._lose(error);
    else for (const { guard } of this.#shares) guard._lose(error);
  }

  /** Takes the lock from its holder, who is told why. */
  takeAway(error: LockLostError): void {
    if (this.state !== 'held') return;
    this.#metrics.losses++;
    void this.queue.leave(this);
    this.lose(error);
  }

  release(): Promise<void> {
    if (this.state !== 'held') return Promise.resolve();
    const left = this.queue.leave(this);
    this.#endHold();
    return left;
  }

  #endHold(): void {
    this.state = 'over';
    if (this.maxHold !== undefined) this.#stopWatching?.();
    this.#metrics.held(this.age);
    this.#metrics.activity.count(0, -1);
  }

  #end(): void {
    this.state = 'over';
    this.#stopWatching?.();
    this.#metrics.activity.count(-1, 0);
  }
}
