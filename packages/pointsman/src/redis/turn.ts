/**
 * One task's way through the lock: it waits, is inside with a guard, and is over.
 *
 * Invariant: a turn changes its state once in each direction, whatever happens at the same time: a
 * grant, an abort, a timeout, a loss and a close all find either a turn that still waits or one that
 * does not. Its timer and its listener live only while it waits.
 */

import { timedOut } from '../sync/errors.js';
import { giveUpOn } from '../sync/give-up.js';
import type { WaitOptions } from '../sync/queue.js';
import type { LockLostError } from './errors.js';
import { RedisGuard } from './guard.js';
import type { Metrics } from './metrics.js';
import type { Session } from './session.js';

/** Where turns wait: among the tasks of this process, or each by itself on the server. */
export interface Queue {
  readonly session: Session;
  enter(turn: Turn): void;
  /** Takes a turn out, whether it waits or is inside. Resolves when the server knows. */
  leave(turn: Turn): Promise<void>;
}

export class Turn {
  readonly keys: readonly string[];
  readonly owner: unknown;
  /** Whether to wait if the keys are not free. */
  readonly wait: boolean;
  readonly queue: Queue;
  state: 'waiting' | 'inside' | 'over' = 'waiting';
  /** Given beforehand if its task had one and waits at a condition. */
  guard: RedisGuard | undefined;
  readonly #metrics: Metrics;
  readonly #settle: (guard: RedisGuard | undefined | PromiseLike<never>) => void;
  readonly #since = performance.now();
  #inside = 0;
  #stop: (() => void) | undefined;

  constructor(
    queue: Queue,
    metrics: Metrics,
    keys: readonly string[],
    {
      owner,
      wait = true,
      guard,
    }: { readonly owner?: unknown; readonly wait?: boolean; readonly guard?: RedisGuard },
    settle: (guard: RedisGuard | undefined | PromiseLike<never>) => void,
  ) {
    this.queue = queue;
    this.#metrics = metrics;
    this.keys = keys;
    this.owner = owner;
    this.wait = wait;
    this.guard = guard;
    this.#settle = settle;
  }

  /** Ends the wait early when the signal aborts or the time is over. */
  limit(options: WaitOptions): void {
    this.#stop = giveUpOn(options, (reason) => this.giveUp(reason), timedOut);
  }

  /** Milliseconds that it has been inside. */
  get age(): number {
    return performance.now() - this.#inside;
  }

  start(token: number): void {
    this.state = 'inside';
    this.#inside = performance.now();
    this.#metrics.waited(this.#inside - this.#since);
    this.#stop?.();
    if (this.guard === undefined) this.guard = new RedisGuard(this, token);
    else this.guard._resume(this, token);
    this.#settle(this.guard);
  }

  /** The keys are not free, and it was not to wait. */
  miss(): void {
    this.#end();
    this.#settle(undefined);
  }

  /** The queue has let go of it already. */
  refuse(reason: unknown): void {
    this.#end();
    this.#settle(Promise.reject(reason));
  }

  giveUp(reason: unknown): void {
    if (this.state !== 'waiting') return;
    this.refuse(reason);
    void this.queue.leave(this);
  }

  /** The queue has let go of it already. */
  lose(error: LockLostError): void {
    this.#leaveInside();
    this.guard?._lose(error);
  }

  release(): Promise<void> {
    if (this.state !== 'inside') return Promise.resolve();
    this.#leaveInside();
    return this.queue.leave(this);
  }

  #leaveInside(): void {
    this.state = 'over';
    this.#metrics.held(this.age);
  }

  #end(): void {
    this.state = 'over';
    this.#stop?.();
  }
}
