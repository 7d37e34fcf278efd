/**
 * The proof that a lock is held, for as long as it is.
 *
 * Invariant: a guard that says it is valid was confirmed by the server, at the latest one lease ago. A
 * guard is lost or released once, and neither changes afterwards.
 */

import { asyncDispose } from '../sync/dispose.js';
import { detached } from '../sync/errors.js';
import { LockLostError } from './errors.js';

/** What a guard stands for. */
export interface Hold {
  readonly keys: readonly string[];
  readonly owner: unknown;
  readonly state: 'waiting' | 'held' | 'over';
  /** The session whose lease it lasts for. */
  readonly session: { readonly ttl: number; readonly label: string; renew(): Promise<void> };
  /** How many guards stand for the lock. */
  readonly shares: number;
  readonly maxHold: number | undefined;
  /** Whether it is held beyond doubt. If its time has run out, it is lost now. */
  check(): boolean;
  release(): Promise<void>;
}

/**
 * A lock on all of its {@link keys}, as {@link RedisMutex.lock} grants it.
 *
 * It is renewed by itself until it is released: by {@link release} or at the end of an `await using`
 * block. It can be lost all the same: if the server cannot be reached for as long as a lease lasts, if
 * this process stands still for as long, if the server loses its data, if it is held for longer than
 * `maxHold`, or if somebody takes it by `forceUnlock`. Then {@link signal} aborts.
 * A task that was standing still itself learns of it only when it goes on: what must not happen twice
 * has to check the {@link token} where it takes effect.
 */
export class RedisGuard {
  /** The keys that are locked, each once, in order. */
  readonly keys: readonly string[];
  #token: number;
  #hold: Hold;
  #lost: LockLostError | undefined;
  #controller: AbortController | undefined;

  /** @internal */
  constructor(hold: Hold, token: number) {
    this.#hold = hold;
    this.keys = hold.keys;
    this.#token = token;
  }

  /**
   * The fencing token: higher than that of every earlier holder of any of the keys. Whatever the lock
   * protects can remember the highest token it has seen and refuse lower ones; `fencedSet` does so. An
   * integer below 2 ** 53.
   */
  get token(): number {
    return this.#token;
  }

  /**
   * Aborts with a {@link LockLostError} when the lock is lost. It is never aborted by `release`. Pass it
   * on to what runs under the lock.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lost !== undefined) this.#controller.abort(this.#lost);
    }
    // Whoever asks after standing still is told at once, not when the timer comes round.
    this.#hold.check();
    return this.#controller.signal;
  }

  /**
   * Whether the lock is held beyond doubt: its lease has not run out by this process's clock, and a loss
   * of the server's data would have been heard of. It may become true again: while the connection for
   * messages is being made again, and until the server has confirmed the lock after that, it is in doubt.
   */
  get valid(): boolean {
    return this.#hold.check();
  }

  /** Whether {@link release} has been called. */
  get released(): boolean {
    return this.#hold.state === 'over' && this.#lost === undefined;
  }

  /**
   * Throws if the lock is not valid any more: a last look before something that must not happen twice.
   *
   * @throws {LockLostError} if it is lost, has been released, or is in doubt because the clocks moved
   * apart, as they do when a machine sleeps.
   */
  assertValid(): void {
    if (!(this instanceof RedisGuard)) throw detached('assertValid');
    if (this.valid) return;
    if (this.#lost !== undefined) throw this.#lost;
    const why = this.released
      ? 'it has been released'
      : 'it is in doubt until the server confirms it';
    throw new LockLostError(`${this.#hold.session.label}the lock is not valid: ${why}`);
  }

  /**
   * Renews the lease now, so that it lasts for a full `ttl` from this call on: before work that will
   * keep the event loop busy. Resolves when the server has confirmed it.
   *
   * @throws {LockLostError} if the lock is lost or released by then.
   */
  async extend(): Promise<void> {
    if (!(this instanceof RedisGuard)) throw detached('extend');
    if (this.#hold.state === 'held') await this.#hold.session.renew().catch(() => {});
    this.assertValid();
  }

  /**
   * Gives the lock back. Resolves when the next may have it: at once if that is a task of this process,
   * otherwise when the server has answered. Never rejects: a lock that cannot be given back ends with
   * its lease. Of several guards of one lock the last gives it back. A second call does nothing.
   *
   * It needs no object to be called on, so it can be passed on as it is: `.finally(guard.release)`,
   * `emitter.once('close', guard.release)`. Each time it is read it is another function.
   */
  get release(): () => Promise<void> {
    return () => this.#hold.release();
  }

  /** The same as {@link release}; what `await using` calls. */
  [asyncDispose](): Promise<void> {
    return this.release();
  }

  /** @internal */
  _lose(error: LockLostError): void {
    this.#lost = error;
    this.#controller?.abort(error);
  }

  /** @internal The lock after a wait at a condition. */
  _resume(hold: Hold, token: number): void {
    this.#hold = hold;
    this.#token = token;
  }

  /** @internal */
  get _hold(): Hold {
    return this.#hold;
  }
}
