/**
 * A counting semaphore: at most `limit` permits are out at once, waiters are served first come, first
 * served, and each permit comes back exactly once.
 *
 * Invariant, whenever none of this code is running: the first waiter asks for more than `#limit` leaves beside
 * the permits that are out. So a free permit and a waiter that it would satisfy never stand side by side.
 * Whatever can break this (a permit that comes back, a waiter that leaves, a limit that changes) ends in
 * `#serve`, which restores it.
 *
 * What it costs. With a permit free: a promise and a permit, which is what the language forces for an
 * answer of one's own that can be awaited. With none free: a promise, its resolve function and a place in a
 * line; the permit is made when the turn comes. Signals, timeouts, priorities and weights live in an
 * object that only a waiter which asked for them has. The floor is one bare native promise for each
 * waiter; the lab's table `semaphore` shows how near this is.
 *
 * What is faster and wrong: a thenable instead of a promise, or one microtask that runs the callbacks
 * of many waiters. Both run a waiter's continuation in the async context of whoever released.
 */

import { Drainable } from '../closable.js';
import { causeOf, checkCount, checkFunction, checkNotOptions, invalid } from '../errors.js';
import type { WaitOptions } from '../options.js';
import { claim } from '../wait/give-up.js';
import {
  type QueueOptions,
  readQueueOptions,
  readRequest,
  type Waiter,
  WaitQueue,
  type WaitRequest,
} from '../wait/queue.js';
import { HandedPermit, Permit } from './permit.js';

/** What {@link Semaphore.acquire} may be told. */
export interface AcquireOptions extends WaitOptions {
  /** How many permits to take, all or none: an integer from 1 to the limit, unless that is 0. Default 1. */
  readonly permits?: number | undefined;
  /**
   * Waiters with a higher priority are served first, equals in the order in which they came. Any
   * finite number. Default 0. A steady stream of higher priorities starves the lower ones.
   */
  readonly priority?: number | undefined;
}

/** What {@link Semaphore.tryAcquire} may be told. */
export type TryAcquireOptions = Pick<AcquireOptions, 'permits' | 'priority'>;

const acquireNames: ReadonlySet<string> = new Set(['permits', 'priority', 'signal', 'timeout']);
const tryAcquireNames: ReadonlySet<string> = new Set(['permits', 'priority']);

/**
 * Lets at most `limit` permits be out at once.
 *
 * - **FIFO.** Waiters are served in the order in which they came. A small request never overtakes a
 *   large one that came earlier, except by a higher `priority`.
 * - **Giving up leaves no trace.** An abort or a timeout takes the waiter out at once, in one step, and
 *   lets those behind it in if they fit now. What has been granted stays granted.
 * - **Release is exactly once.** The second release of a permit does nothing.
 * - **The caller's context is kept.** Promises are native: `AsyncLocalStorage` and async stack traces
 *   see whoever waited.
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
  #out = 0;
  readonly #queue: WaitQueue<Permit | undefined>;

  /**
   * @param limit How many permits there are: an integer from 0 on, or `Infinity`.
   * @throws {RangeError | TypeError} for any other limit, and for options that cannot be used.
   */
  constructor(limit: number, options?: QueueOptions) {
    if (typeof limit === 'object') checkNotOptions('Semaphore', 'limit', limit);
    checkCount('limit', limit, 0);
    const { label, maxWaiting } = readQueueOptions(options);
    super(label);
    this.#limit = limit;
    this.#queue = new WaitQueue(label, maxWaiting);
  }

  /**
   * How many permits there are. It can be changed at any time, to an integer from 0 on or to `Infinity`.
   *
   * A higher limit lets waiters in at once. A lower one revokes nothing: permits that are out stay
   * valid, and the next is granted when enough have come back. A waiter that asks for more permits
   * than the limit then allows is rejected with a `RangeError` when it comes to the front.
   *
   * A limit of 0 is a pause: everybody waits, however many permits they ask for, until it is raised.
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
    this.#serve();
  }

  /** How many permits are free: 0 also while more are out than a lowered limit allows. */
  get available(): number {
    return Math.max(this.#limit - this.#out, 0);
  }

  /** How many requests wait in the queue. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** @internal */
  get _active(): number {
    return this.#out;
  }

  /** Whether no permit is out and nobody waits. */
  get idle(): boolean {
    return this.#out === 0 && this.#queue.length === 0;
  }

  /**
   * Takes permits, waiting in the queue until it is this request's turn.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, with the
   * reason of {@link close} or {@link cancel}, with a `QueueFullError` where `maxWaiting` wait already, and with
   * a `RangeError` or `TypeError` for options that cannot be used. After a rejection nothing is held and nothing
   * is left in the queue.
   *
   * In Workers (workerd), where requests share a semaphore, give a `timeout` or a signal: the timer is
   * what keeps a waiting request alive until another request lets it in.
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
      if (options === undefined) {
        if (this.#enter()) return new Permit(this, 1, true) as never;
        if (!this._ending) return this.#queue.append() as Promise<Permit>;
      }
      return Promise.resolve(this.#request(options));
    } catch (error) {
      return Promise.reject(causeOf(error, this, Semaphore, 'acquire'));
    }
  }

  /**
   * Takes permits if that needs no waiting; otherwise it is `undefined` and nothing has changed. It
   * never overtakes a waiter of the same or a higher priority.
   *
   * With a permit free it costs a few nanoseconds, so a hot loop may try first:
   * `semaphore.tryAcquire() ?? (await semaphore.acquire())`.
   *
   * @throws The reason of {@link close}, if closed; a `RangeError` or `TypeError` for bad options.
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
      if (options === undefined && !this._ending) {
        return this.#enter() ? new Permit(this, 1) : undefined;
      }
      return this.#take(readRequest(options, this._tryNames, this.#most));
    } catch (error) {
      throw causeOf(error, this, Semaphore, 'tryAcquire');
    }
  }

  /**
   * Runs `fn` with a permit, and gives the permit back when the result of `fn` has settled, before
   * whoever awaits it goes on. The result, value or error, is that of `fn`; `fn` is given the permit.
   *
   * With a permit free, `fn` starts before `run` returns; otherwise it starts when its turn comes.
   * Options are those of {@link acquire}; once `fn` has started they have no effect.
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
      const granted = this.#request(options);
      if (granted instanceof Permit) return runWith(granted, fn);
      return granted.then((permit) => runWith(permit, fn));
    } catch (error) {
      return Promise.reject(causeOf(error, this, Semaphore, 'run'));
    }
  }

  /** @internal The options that a wait takes. */
  get _waitNames(): ReadonlySet<string> {
    return acquireNames;
  }

  /** @internal The options that a try takes. */
  get _tryNames(): ReadonlySet<string> {
    return tryAcquireNames;
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    this.#queue.rejectAll(reason);
    this.#serve();
  }

  /** @internal Makes the permit for somebody whose turn it is, or none if that one must stay in its place. */
  _grant({ permits = 1 }: Waiter): Permit | undefined {
    return new HandedPermit(this, permits);
  }

  /** @internal Takes back what a permit stands for. */
  _giveBack(permits: number): void {
    const queue = this.#queue;
    if (queue.length === 0) {
      this.#out -= permits;
      if (this._watched && this.#out === 0) this._idled();
    } else if (permits === 1 && this.#out === this.#limit && queue.plain) {
      // The permit changes hands without becoming free in between.
      queue.grant(new HandedPermit(this, 1));
    } else {
      this.#out -= permits;
      this.#serve();
    }
  }

  /** How many permits a request may ask for. In a pause nobody knows yet. */
  get #most(): number {
    return this.#limit || Infinity;
  }

  /** Takes one permit, if there is one for a newcomer. */
  #enter(): boolean {
    const isFree = this.#out < this.#limit && !this._ending && this.#queue.priority < 0;
    if (isFree) this.#out++;
    return isFree;
  }

  /** A permit if one can be had at once, otherwise the promise of one. */
  #request(options: AcquireOptions | undefined): Permit | Promise<Permit> {
    if (options === undefined) {
      if (this.#enter()) return new Permit(this, 1);
      if (!this._ending) return this.#queue.append() as Promise<Permit>;
    }
    const request = readRequest(options, this._waitNames, this.#most);
    return (
      this.#take(request) ?? (this.#queue.insert(request, () => this.#serve()) as Promise<Permit>)
    );
  }

  #take(request: WaitRequest): Permit | undefined {
    if (this.#mustWait(request)) return undefined;
    const permit = this._grant(request);
    if (permit) {
      this.#out += request.permits;
      claim(request.signal);
    }
    return permit;
  }

  /** Whether a newcomer cannot have what it asks for at once. Throws if it never can. */
  #mustWait(request: WaitRequest): boolean {
    this._refuse(request);
    return this.#limit - this.#out < request.permits || request.priority <= this.#queue.priority;
  }

  /** Serves the queue from its front for as long as that is possible. */
  #serve(): void {
    const queue = this.#queue;
    for (let { next } = queue; next; next = queue.next) {
      const { permits = 1 } = next;
      if (permits > this.#most) {
        const name = `${this._label}permits`;
        queue.reject(invalid(name, permits, `at most ${this.#limit}`, 'number'), next);
      } else if (permits > this.#limit - this.#out) {
        return;
      } else {
        const permit = this._grant(next);
        if (!permit) return;
        this.#out += permits;
        queue.grant(permit, next);
      }
    }
    if (this._watched && this.#out === 0) this._idled();
  }
}

/**
 * @internal Runs a function with a permit that goes back when its result has settled. Not an async function: that takes
 * longer where nobody waits.
 */
export function runWith<T, Held extends Permit>(
  permit: Held,
  fn: (permit: Held) => T | PromiseLike<T>,
): Promise<T> {
  let result: Promise<T>;
  try {
    result = Promise.resolve(fn(permit));
  } catch (error) {
    result = Promise.reject(error);
  }
  return result.then(
    (value) => {
      permit._giveBack();
      return value;
    },
    (error) => {
      permit._giveBack();
      throw error;
    },
  );
}
