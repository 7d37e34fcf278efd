/**
 * One call of `lock`, which waits, holds the lock and ends, and the guards that the caller gets for it.
 *
 * Invariants:
 * - An acquisition is first `waiting`, then `held`, then `over`, and enters each state at most once. A grant, an abort, a
 *   timeout, a loss and a close may race; each takes effect only in the state that it applies to.
 * - It listens to its signal and its timeout only while it waits, and to `maxHold` only while it holds the lock.
 * - The lock is released with the last of its guards. A guard is released or lost at most once, and stays so.
 * - A guard that reports itself valid was confirmed by the server at most one lease ago.
 */

import { asyncDispose } from '../sync/dispose.js';
import { detached, timedOut } from '../sync/errors.js';
import type { WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { LockLostError } from './errors.js';
import type { Metrics } from './metrics.js';
import type { Share } from './protocol/protocol.js';

/** A queue of acquisitions: `LocalQueue` within the process, or `StrictQueue` on the server. */
export interface Queue {
  /** The session whose lease bounds all locks of the queue. */
  readonly session: { readonly label: string; checkLease(): boolean; renew(): Promise<void> };
  readonly acquisitions: Iterable<Acquisition>;
  acquisitionsOf(key: string): Iterable<Acquisition>;
  enter(acquisition: Acquisition): void;
  /** Removes an acquisition that waits or holds the lock. Resolves when the server has processed it. */
  leave(acquisition: Acquisition): Promise<void>;
}

export interface Terms {
  readonly owner?: unknown;
  readonly wait?: boolean;
  readonly maxHold?: number | undefined;
  readonly share?: Share | undefined;
  readonly guard?: SharedGuard;
}

const NO_GUARDS: readonly SharedGuard[] = [];

export type Resolve = (guard: SharedGuard | undefined | PromiseLike<never>) => void;

export class Acquisition {
  readonly keys: readonly string[];
  readonly owner: unknown;
  /** Whether to wait if the keys are not free. */
  readonly wait: boolean;
  /** Milliseconds after which the lock ends by itself. */
  readonly maxHold: number | undefined;
  /** How it shares the keys; undefined if it holds them alone. A downgrade changes it. */
  share: Share | undefined;
  readonly queue: Queue;
  state: 'waiting' | 'held' | 'over' = 'waiting';
  /** The guards of the lock that have not been released. */
  guards = NO_GUARDS;
  /** The guard that gets the lock again after a wait at a condition. */
  readonly #resumed: SharedGuard | undefined;
  readonly #metrics: Metrics;
  readonly #resolve: Resolve;
  readonly #requestedAt = performance.now();
  #heldSince = 0;
  #stopListening: (() => void) | undefined;

  constructor(
    queue: Queue,
    metrics: Metrics,
    keys: readonly string[],
    { owner, wait = true, maxHold, share, guard }: Terms,
    resolve: Resolve,
  ) {
    this.queue = queue;
    this.#metrics = metrics;
    this.keys = keys;
    this.owner = owner;
    this.wait = wait;
    this.maxHold = maxHold;
    this.share = share;
    this.#resumed = guard;
    this.#resolve = resolve;
    metrics.activity.count(1, 0);
  }

  limit(options: WaitOptions): void {
    try {
      this.#stopListening = giveUpOn(
        options,
        (reason) => this.giveUp(reason),
        (timeout) => timedOut(timeout, this.queue.session.label),
      );
    } catch (error) {
      this.#endWait();
      throw error;
    }
  }

  get age(): number {
    return performance.now() - this.#heldSince;
  }

  start(token: number): void {
    this.state = 'held';
    this.#metrics.activity.count(-1, 1);
    this.#heldSince = performance.now();
    this.#metrics.waited(this.#heldSince - this.#requestedAt);
    this.#stopListening?.();
    if (this.maxHold !== undefined) this.#limitHold(this.maxHold);
    let guard = this.#resumed;
    if (guard === undefined) guard = new SharedGuard(this, this.keys, token);
    else guard._resume(this, token);
    this.guards = [guard];
    this.#resolve(guard);
  }

  #limitHold(maxHold: number): void {
    this.#stopListening = giveUpOn(
      { timeout: maxHold },
      (error) => this.takeAway(error as LockLostError),
      () => this.#heldTooLong(),
    );
  }

  #heldTooLong(): LockLostError {
    return new LockLostError(
      `${this.queue.session.label}the lock was held for longer than maxHold, ${this.maxHold} ms`,
    );
  }

  /**
   * Creates another guard, for an owner that locks some of the keys again. Throws if the lock is lost, so that the owner
   * learns of it instead of getting a later lock.
   */
  addGuard(keys: readonly string[]): SharedGuard {
    const first = this.guards[0] as SharedGuard;
    first.assertValid();
    const guard = new SharedGuard(this, keys, first.token);
    this.guards = [...this.guards, guard];
    return guard;
  }

  /** Whether the lock is held beyond doubt. If `maxHold` or the lease has ended, the lock is lost now. */
  check(): boolean {
    // The timer may be late.
    if (this.maxHold !== undefined && this.age >= this.maxHold) this.takeAway(this.#heldTooLong());
    return this.state === 'held' && this.queue.session.checkLease();
  }

  /** The keys are not free, and the acquisition does not wait. The queue has removed it. */
  miss(): void {
    this.#endWait();
    this.#resolve(undefined);
  }

  /** The queue has removed it. */
  refuse(reason: unknown): void {
    if (this.state !== 'waiting') return;
    this.#endWait();
    this.#resolve(Promise.reject(reason));
  }

  giveUp(reason: unknown): void {
    if (this.state !== 'waiting') return;
    void this.queue.leave(this);
    this.refuse(reason);
  }

  /** The lock is lost. The queue has removed the acquisition. */
  lose(error: LockLostError): void {
    this.#endHold();
    for (const guard of this.guards) guard._lose(error);
  }

  takeAway(error: LockLostError): void {
    if (this.state !== 'held') return;
    this.#metrics.losses++;
    void this.queue.leave(this);
    this.lose(error);
  }

  release(guard: SharedGuard): Promise<void> {
    const { state, guards } = this;
    if (state !== 'held' || !guards.includes(guard)) return Promise.resolve();
    if (guards.length > 1) {
      this.guards = guards.filter((other) => other !== guard);
      return Promise.resolve();
    }
    this.guards = NO_GUARDS;
    const left = this.queue.leave(this);
    this.#endHold();
    return left;
  }

  #endHold(): void {
    this.state = 'over';
    if (this.maxHold !== undefined) this.#stopListening?.();
    this.#metrics.held(this.age);
    this.#metrics.activity.count(0, -1);
  }

  #endWait(): void {
    this.state = 'over';
    this.#stopListening?.();
    this.#metrics.activity.count(-1, 0);
  }
}

/**
 * A lock on all of its {@link keys}, as {@link SharedMutex.lock} grants it.
 *
 * It is renewed automatically until it is released, by {@link release} or at the end of an `await using` block. It is
 * lost if the server cannot be reached or this process is suspended for a whole lease, if the server loses its data, if
 * the lock is held for longer than `maxHold`, or if `forceUnlock` takes it. Then {@link signal} aborts.
 *
 * A task that was suspended itself learns of the loss only when it continues. Check the {@link token} wherever an effect
 * must not happen twice.
 */
export class SharedGuard {
  /** The locked keys, sorted, without duplicates. */
  readonly keys: readonly string[];
  #token: number;
  #acquisition: Acquisition;
  #lost: LockLostError | undefined;
  #controller: AbortController | undefined;

  /** @internal */
  constructor(acquisition: Acquisition, keys: readonly string[], token: number) {
    this.#acquisition = acquisition;
    this.keys = keys;
    this.#token = token;
  }

  /**
   * The fencing token: higher than that of every earlier holder of any of the keys. The resource that the lock protects
   * can store the highest token that it has seen and refuse lower ones; `fencedSet` does so. An integer below 2 ** 53.
   */
  get token(): number {
    return this.#token;
  }

  /**
   * Aborts with a {@link LockLostError} when the lock is lost. {@link release} never aborts it. Pass it to the work that
   * runs under the lock.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lost !== undefined) this.#controller.abort(this.#lost);
    }
    // After a suspension the signal aborts here, without waiting for the timer.
    this.#check();
    return this.#controller.signal;
  }

  /**
   * Whether the lock is held beyond doubt: its lease has not ended by this process's clock, and a loss of the server's
   * data would have been announced to this process. It can become true again: the lock is in doubt while the connection
   * for messages is down, and after that until the server has confirmed the lock.
   */
  get valid(): boolean {
    return this.#check();
  }

  /** Whether {@link release} has been called. */
  get released(): boolean {
    return this.#lost === undefined && !this.#acquisition.guards.includes(this);
  }

  #check(): boolean {
    return this.#acquisition.guards.includes(this) && this.#acquisition.check();
  }

  /**
   * Throws unless the lock is valid. Call it last before an effect that must not happen twice.
   *
   * @throws {LockLostError} if the lock is lost, has been released, or is in doubt, for example after the machine slept.
   */
  assertValid(): void {
    if (!(this instanceof SharedGuard)) throw detached('assertValid');
    if (this.valid) return;
    if (this.#lost !== undefined) throw this.#lost;
    const why = this.released
      ? 'it has been released'
      : 'it is in doubt until the server confirms it';
    throw new LockLostError(
      `${this.#acquisition.queue.session.label}the lock is not valid: ${why}`,
    );
  }

  /**
   * Renews the lease now, so that it lasts for a full `ttl` from this call. Call it before work that blocks the event
   * loop for long. Resolves when the server has confirmed the renewal.
   *
   * @throws {LockLostError} if the lock is lost or released by then.
   */
  async extend(): Promise<void> {
    if (!(this instanceof SharedGuard)) throw detached('extend');
    const { state, queue } = this.#acquisition;
    if (state === 'held') await queue.session.renew().catch(() => {});
    this.assertValid();
  }

  /**
   * Releases the lock. Resolves when the next request can have it: at once for a task of this process, otherwise when
   * the server has replied. Never rejects: a lock that cannot be released ends with its lease. If the lock has several
   * guards, the last one releases it. A second call does nothing.
   *
   * It works without its object: `.finally(guard.release)`, `emitter.once('close', guard.release)`. Each access returns
   * a new function.
   */
  get release(): () => Promise<void> {
    return () => this.#acquisition.release(this);
  }

  /** Calls {@link release}, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.release();
  }

  /** @internal */
  _lose(error: LockLostError): void {
    this.#lost = error;
    this.#controller?.abort(error);
  }

  /** @internal Makes this the guard of another acquisition, after a wait at a condition. */
  _resume(acquisition: Acquisition, token: number): void {
    this.#acquisition = acquisition;
    this.#token = token;
  }

  /** @internal */
  get _acquisition(): Acquisition {
    return this.#acquisition;
  }
}
