/**
 * A counting semaphore, FIFO within a priority; also the state of a mutex and of each key of the keyed locks.
 *
 * Invariant, whenever none of this code is running: the front waiter requests more permits than are available. A
 * release, a waiter that leaves and a new limit can break this; each ends in `_serve`, which restores it.
 *
 * A free permit costs a promise and a permit, a waiter without options a promise, its resolve function and a field in a
 * list. Returning a thenable, or running many callbacks in one microtask, would be faster and wrong: continuations
 * would run in the async context of the task that released.
 */

import { Drainable } from '../closable.js';
import {
  causeOf,
  checkCount,
  checkFunction,
  checkNotOptions,
  fullError,
  invalid,
} from '../errors.js';
import type { WaitOptions } from '../options.js';
import { winContest } from '../wait/give-up.js';
import { PriorityQueue, readRequest } from '../wait/priority-queue.js';
import {
  type QueueOptions,
  readQueueOptions,
  type Waiter,
  type WaitRequest,
} from '../wait/queue.js';
import { HandedPermit, Permit, runWith } from './permit.js';

/** Options for {@link Semaphore.acquire}. */
export interface AcquireOptions extends WaitOptions {
  /** Acquired all or none: an integer from 1 to the limit; any during a limit of 0. Default 1. */
  readonly permits?: number | undefined;
  /**
   * Any finite number; higher ones are served first, FIFO within a priority. Default 0. A steady stream of higher
   * priorities starves lower ones.
   */
  readonly priority?: number | undefined;
}

/** Options for {@link Semaphore.tryAcquire}. */
export type TryAcquireOptions = Pick<AcquireOptions, 'permits' | 'priority'>;

const acquireNames: readonly string[] = ['permits', 'priority', 'signal', 'timeout'];
const tryAcquireNames: readonly string[] = ['permits', 'priority'];

/**
 * Limits the number of permits that are held at once.
 *
 * - **FIFO.** A small request never overtakes an earlier large one, except by a higher `priority`.
 * - **Giving up leaves no trace.** An abort or a timeout removes the waiter in one step and serves the waiters behind it
 *   that fit now. A granted permit stays granted.
 * - **Release is exactly once.** A second release does nothing.
 * - **Context is kept.** Promises are native: `AsyncLocalStorage` and async stack traces show the waiter.
 *
 * @example
 * ```ts
 * import { Semaphore } from 'pointsman';
 *
 * const connections = new Semaphore(2);
 *
 * async function query(n: number): Promise<number> {
 *   using permit = await connections.acquire();
 *   return n * n; // at most two are here at once
 * }
 *
 * console.log(await Promise.all([1, 2, 3].map(query))); // [ 1, 4, 9 ]
 * console.log(connections.available); // 2
 * ```
 */
export class Semaphore extends Drainable {
  #limit: number;
  #held = 0;
  readonly #maxWaiting: number;
  readonly #queue: PriorityQueue<Permit>;
  /** @internal The owner of the lock that is held, if the semaphore is one and the request named an owner. */
  declare _owner: unknown;

  /**
   * @param limit The number of permits: an integer >= 0, or `Infinity`.
   */
  constructor(limit: number, options?: QueueOptions) {
    checkNotOptions('Semaphore', 'limit', limit);
    checkCount('limit', limit, 0);
    const { label, maxWaiting } = readQueueOptions(options);
    super(label);
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
    this.#queue = new PriorityQueue(label);
  }

  /**
   * The number of permits. Can be set at any time, to an integer >= 0 or `Infinity`.
   *
   * A higher limit serves waiters at once. A lower one revokes nothing; a waiter that requests more permits than it
   * allows is rejected with a `RangeError` when it comes to the front. 0 is a pause: every request waits, of any number
   * of permits.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(1);
   * const first = await semaphore.acquire();
   * const second = semaphore.acquire();
   * console.log(semaphore.waiting); // 1
   * semaphore.limit = 2;
   * console.log(semaphore.waiting); // 0
   * ```
   */
  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    checkCount('limit', limit, 0);
    this.#limit = limit;
    this._serve();
  }

  /** The number of free permits, at least 0. */
  get available(): number {
    return Math.max(this.#limit - this.#held, 0);
  }

  /** The number of waiting requests. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** @internal */
  get _active(): number {
    return this.#held;
  }

  /** Whether no permit is held and no request waits. */
  get idle(): boolean {
    return this.#held === 0 && this.#queue.length === 0;
  }

  /**
   * Acquires permits; waits in the queue until it is this request's turn.
   *
   * Never throws. Rejects with the signal's reason, a `TimeoutError`, the reason of {@link close} or {@link cancel}, a
   * `QueueFullError`, or a `RangeError` or `TypeError` for invalid options, and then holds nothing.
   *
   * In Workers (workerd), where requests share a semaphore, pass a `timeout` or a signal: the timer keeps a waiting
   * request alive until another one releases.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(3);
   * {
   *   using permit = await semaphore.acquire({ permits: 2, timeout: 1_000 });
   *   console.log(semaphore.available); // 1
   *   await semaphore.acquire({ permits: 2, timeout: 5 }).catch((error) => console.log(error.name)); // TimeoutError
   * }
   * console.log(semaphore.available); // 3
   * ```
   */
  acquire(options?: AcquireOptions): Promise<Permit> {
    try {
      if (options !== undefined) return Promise.resolve(this.#request(options));
      return (this.#enter(true) as never) ?? this.#wait();
    } catch (error) {
      return Promise.reject(causeOf(error, this, Semaphore, 'acquire'));
    }
  }

  /**
   * Acquires permits without waiting; returns `undefined` if too few are free or a waiter of the same or a higher
   * priority goes first.
   *
   * It takes a few nanoseconds, so a hot loop may try first: `semaphore.tryAcquire() ?? (await semaphore.acquire())`.
   *
   * @throws The reason of {@link close}, if closed; a `RangeError` or `TypeError` for invalid options.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(1);
   * const permit = semaphore.tryAcquire();
   * console.log(semaphore.tryAcquire()); // undefined
   * permit?.release();
   * console.log(semaphore.tryAcquire()?.permits); // 1
   * ```
   */
  tryAcquire(options?: TryAcquireOptions): Permit | undefined {
    try {
      if (options !== undefined) {
        return this._take(readRequest(options, tryAcquireNames, this.#max));
      }
      return this.#enter();
    } catch (error) {
      throw causeOf(error, this, Semaphore, 'tryAcquire');
    }
  }

  /**
   * Runs `fn` with a permit, which is released when the result of `fn` has settled, before the caller's continuation
   * runs. Settles as `fn` does.
   *
   * With a free permit, `fn` starts before `run` returns. Options have no effect once it has started.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(1);
   * console.log(await semaphore.run(async () => 'done')); // done
   * await semaphore.run(() => { throw new Error('lost'); }).catch((error) => console.log(error.message)); // lost
   * console.log(semaphore.available); // 1
   * ```
   */
  run<T>(fn: (permit: Permit) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    try {
      checkFunction('fn', fn);
      return runWith(this.#request(options), fn);
    } catch (error) {
      return Promise.reject(causeOf(error, this, Semaphore, 'run'));
    }
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    this.#queue.rejectAll(reason);
    this._serve();
  }

  /** @internal */
  _giveBack(permits: number): void {
    if (this._owner !== undefined) this._owner = undefined;
    const queue = this.#queue;
    if (queue.length === 0) {
      this.#held -= permits;
      if (this.#held === 0) this._idled();
    } else if (permits === 1 && this.#held === this.#limit && queue.plain) {
      // The permit goes to the front waiter without becoming free in between.
      queue.grant(new HandedPermit(this, 1));
    } else {
      this.#held -= permits;
      this._serve();
    }
  }

  /** @internal Returns a permit if it can be granted at once, otherwise a promise of one. */
  _request(request?: WaitRequest): Permit | Promise<Permit> {
    if (!request) return this.#enter() ?? this.#wait();
    const permit = this._take(request);
    if (!permit) return this.#wait(request);
    winContest(request.signal);
    return permit;
  }

  /** @internal Returns a permit if it can be granted at once. */
  _take(request: WaitRequest): Permit | undefined {
    this._refuse();
    return request.priority > this.#queue.priority ? this.#grant(request) : undefined;
  }

  /** @internal The request that is served next. */
  get _front(): Waiter | undefined {
    return this.#queue.front;
  }

  /** @internal Serves the queue from its front, as far as possible. */
  _serve(): void {
    const queue = this.#queue;
    for (let { next } = queue; next; next = queue.next) {
      const { permits = 1 } = next;
      if (permits > this.#max) {
        const name = `${this._label}permits`;
        queue.reject(invalid(name, permits, `at most ${this.#limit}`, 'number'), next);
      } else {
        const permit = this.#grant(next);
        if (!permit) return;
        queue.grant(permit, next);
      }
    }
    if (this.#held === 0) this._idled();
  }

  /** The maximum for a request: none during a pause, because the next limit is not known. */
  get #max(): number {
    return this.#limit || Infinity;
  }

  #request(options: AcquireOptions | undefined): Permit | Promise<Permit> {
    return this._request(
      options === undefined ? options : readRequest(options, acquireNames, this.#max),
    );
  }

  #wait(request?: WaitRequest): Promise<Permit> {
    if (this.waiting >= this.#maxWaiting && request?.timeout !== 0) {
      throw fullError(this._label, this.#maxWaiting);
    }
    return request ? this.#queue.insert(request, () => this._serve()) : this.#queue.append();
  }

  /** Returns one permit for a request without options, if one is free and no waiter goes first; or a promise of it. */
  #enter(promised?: boolean): Permit | undefined {
    this._refuse();
    if (this.#held >= this.#limit || this.#queue.priority >= 0) return undefined;
    this.#held++;
    return new Permit(this, 1, promised);
  }

  /** Makes the permit for a request whose turn it is, if enough permits are free. */
  #grant(waiter: Waiter): Permit | undefined {
    const { permits = 1, owner, group } = waiter;
    if (permits > this.#limit - this.#held || group?.offer(this) === false) return undefined;
    this.#held += permits;
    if (owner !== undefined) this._owner = owner;
    return new HandedPermit(this, permits);
  }
}
