/**
 * A counting semaphore: at most `limit` permits are out at once, waiters are served first come, first
 * served, and each permit comes back exactly once.
 *
 * Invariant, whenever none of this code is running: `#free` plus the permits that are out equals
 * `#limit`, and the first waiter asks for more than `#free`. So a free permit and a waiter that it
 * would satisfy never stand side by side. Whatever can break this (a permit that comes back, a waiter
 * that leaves, a limit that changes) ends in `#serve`, which restores it.
 *
 * What it costs. With a permit free: a promise and a permit, which is what the language forces for an
 * answer of one's own that can be awaited. With none free: a promise, its resolve function and a list
 * node; the permit is made when the turn comes. Signals, timeouts, priorities and weights live in an
 * object that only a waiter which asked for them has. The floor is one bare native promise for each
 * waiter; the lab's table `semaphore` shows how near this is.
 *
 * What is faster and wrong: a thenable instead of a promise, or one microtask that runs the callbacks
 * of many waiters. Both run a waiter's continuation in the async context of whoever released.
 */

import { ClosedError, checkInteger, invalid } from './errors.js';
import type { WaitOptions } from './options.js';
import { priorityOf, readRequest, rejection, WaitQueue, type WaitRequest } from './queue.js';

/** What {@link Semaphore.acquire} may be told. */
export interface AcquireOptions extends WaitOptions {
  /** How many permits to take, all or none: an integer from 1 to the limit. Default 1. */
  readonly permits?: number | undefined;
  /**
   * Waiters with a higher priority are served first, equals in the order in which they came. Any
   * finite number. Default 0. A steady stream of higher priorities starves the lower ones.
   */
  readonly priority?: number | undefined;
}

/** What {@link Semaphore.tryAcquire} may be told. */
export type TryAcquireOptions = Pick<AcquireOptions, 'permits' | 'priority'>;

let giveBack: (issuer: Semaphore, permits: number) => void;

/**
 * The right to be inside, as {@link Semaphore.acquire} grants it. It gives its permits back exactly
 * once: by {@link release} or at the end of a `using` block, whichever comes first.
 *
 * Only a semaphore makes permits. Its form makes it nearly free:
 * - The constructor can answer with a promise of the new permit. In there V8 knows the permit's shape
 *   and fulfils the promise without searching the permit for a `then`: less than half of the time for
 *   the pair.
 * - The fields are declared, not defined: a class field or a `#private` name would cost time in each
 *   contended acquire.
 */
export class Permit {
  /** @internal Undefined once the permits have gone back. */
  declare _issuer: Semaphore | undefined;
  /** How many permits this one stands for. */
  declare readonly permits: number;

  /** @internal */
  constructor(issuer: Semaphore, permits: number, promised?: boolean) {
    this._issuer = issuer;
    this.permits = permits;
    // biome-ignore lint/correctness/noConstructorReturn: explained above, and only internal
    if (promised) return Promise.resolve(this) as never;
  }

  /** Whether the permits have gone back. */
  get released(): boolean {
    return this._issuer === undefined;
  }

  /** Gives the permits back. A second call does nothing, whoever holds them by then. */
  release(): void {
    const issuer = this._issuer;
    if (issuer !== undefined) {
      this._issuer = undefined;
      giveBack(issuer, this.permits);
    }
  }

  /** The same as {@link release}; what `using` calls. */
  [Symbol.dispose](): void {
    this.release();
  }
}

/** A permit handed to a waiter: the resolve function's search for a `then` ends at its first step. */
class HandedPermit extends Permit {
  // biome-ignore lint/suspicious/noThenProperty: undefined, so that nobody takes it for a promise
  readonly then = undefined;
}

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
export class Semaphore {
  #limit = 0;
  #free = 0;
  #closed: { readonly reason: unknown } | undefined;
  #drains: WaitQueue<void> | undefined;
  readonly #queue = new WaitQueue<Permit>();
  /** @internal Whether anybody wants to know when the last permit has come back. */
  _watched = false;
  /** @internal Called when it is idle, for whoever made it. */
  _onIdle: (() => void) | undefined;

  /**
   * @param limit How many permits there are: a positive integer.
   * @throws {RangeError | TypeError} for any other limit.
   */
  constructor(limit: number) {
    this.limit = limit;
  }

  /**
   * How many permits there are. It can be changed at any time, to a positive integer.
   *
   * A higher limit lets waiters in at once. A lower one revokes nothing: permits that are out stay
   * valid, and the next is granted when enough have come back. A waiter that asks for more permits
   * than the limit then allows is rejected with a `RangeError` when it comes to the front.
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
    checkInteger('limit', limit, 1, Number.MAX_SAFE_INTEGER);
    this.#free += limit - this.#limit;
    this.#limit = limit;
    this.#serve();
  }

  /** How many permits are free: 0 also while more are out than a lowered limit allows. */
  get available(): number {
    return Math.max(this.#free, 0);
  }

  /** How many requests wait in the queue. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Whether {@link close} has been called. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Whether no permit is out, and so nobody waits. */
  get idle(): boolean {
    return this.#free === this.#limit;
  }

  /**
   * Takes permits, waiting in the queue until it is this request's turn.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, with the
   * reason of {@link close} for a closed semaphore, and with a `RangeError` or `TypeError` for options
   * that cannot be used. After a rejection nothing is held and nothing is left in the queue.
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
    if (options === undefined) {
      if (this.#enter()) return new Permit(this, 1, true) as never;
      if (this.#closed === undefined) return this.#queue.append();
    }
    return Promise.resolve(this.#request(options));
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
    if (options === undefined && this.#closed === undefined) {
      return this.#enter() ? new Permit(this, 1) : undefined;
    }
    return this.#take(readRequest(options, this.#limit));
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
    if (typeof fn !== 'function') return Promise.reject(invalid('fn', fn, 'a function'));
    const granted = this.#request(options);
    if (granted instanceof Permit) return runWith(granted, fn);
    return granted.then((permit) => runWith(permit, fn));
  }

  /**
   * Waits until no permit is out and nobody waits. It keeps nobody from coming in meanwhile or
   * afterwards: to shut down, {@link close} first.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(2);
   * const permit = await semaphore.acquire();
   * setTimeout(() => permit.release(), 1);
   * await semaphore.drain();
   * console.log(permit.released); // true
   * ```
   */
  async drain(options?: WaitOptions): Promise<void> {
    const request = readRequest(options, 1);
    if (this.idle) return;
    this.#drains ??= new WaitQueue();
    this._watched = true;
    await this.#drains.insert(request);
  }

  /**
   * Sends all waiters away and refuses all requests from now on, with `reason`; by default a
   * `ClosedError`. Permits that are out stay valid until they are released. A second call does nothing.
   *
   * @example
   * ```ts
   * import { Semaphore } from 'pointsman';
   *
   * const semaphore = new Semaphore(1);
   * using permit = await semaphore.acquire();
   * const waiter = semaphore.acquire();
   * semaphore.close(new Error('going home'));
   * await waiter.catch((error) => console.log(error.message)); // going home
   * ```
   */
  close(reason: unknown = new ClosedError('the primitive is closed')): void {
    if (this.#closed !== undefined) return;
    this.#closed = { reason };
    this.#queue.settleAll(rejection(reason));
  }

  /** @internal Called whenever the last permit of a watched semaphore has come back. */
  _idled(): void {
    this.#drains?.settleAll();
    this._onIdle?.();
  }

  /** @internal Throws if a request cannot be granted however long it waits. */
  _refuse(_request: WaitRequest): void {
    if (this.#closed !== undefined) throw this.#closed.reason;
  }

  /** @internal Makes the permit for a request with options. */
  _grant({ permits }: WaitRequest): Permit {
    return new HandedPermit(this, permits);
  }

  /** Takes one permit, if there is one for a newcomer. */
  #enter(): boolean {
    if (this.#free <= 0 || this.#closed !== undefined) return false;
    if (this.#queue.length > 0 && priorityOf(this.#queue.next) >= 0) return false;
    this.#free--;
    return true;
  }

  /** A permit if one can be had at once, otherwise the promise of one. */
  #request(options: AcquireOptions | undefined): Permit | Promise<Permit> {
    if (options === undefined) {
      if (this.#enter()) return new Permit(this, 1);
      if (this.#closed === undefined) return this.#queue.append();
    }
    try {
      const request = readRequest(options, this.#limit);
      return this.#take(request) ?? this.#queue.insert(request, () => this.#serve());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #take(request: WaitRequest): Permit | undefined {
    this._refuse(request);
    if (this.#free < request.permits || request.priority <= priorityOf(this.#queue.next))
      return undefined;
    this.#free -= request.permits;
    return this._grant(request);
  }

  /** Serves the queue from its front for as long as that is possible. */
  #serve(): void {
    const queue = this.#queue;
    while (queue.length > 0) {
      const { request } = queue.next;
      const permits = request === undefined ? 1 : request.permits;
      if (request?.signal?.aborted) {
        // Its listener has not run yet; it must not be let in by one that has.
        queue.settle(rejection(request.signal.reason));
      } else if (permits > this.#limit) {
        const expected = `at most the limit of ${this.#limit}`;
        queue.settle(rejection(invalid('permits', permits, expected, 'number')));
      } else if (permits > this.#free) {
        return;
      } else {
        this.#free -= permits;
        queue.settle(request === undefined ? new HandedPermit(this, 1) : this._grant(request));
      }
    }
    if (this._watched && this.idle) this._idled();
  }

  static {
    giveBack = (issuer, permits) => {
      const queue = issuer.#queue;
      if (queue.length === 0) {
        issuer.#free += permits;
        if (issuer._watched && issuer.idle) issuer._idled();
      } else if (permits === 1 && issuer.#free === 0 && queue.next.request === undefined) {
        // The permit changes hands without becoming free in between.
        queue.settle(new HandedPermit(issuer, 1));
        // The next in line may ask for more than a limit that was lowered meanwhile.
        if (queue.next.request !== undefined) issuer.#serve();
      } else {
        issuer.#free += permits;
        issuer.#serve();
      }
    };
  }
}

// Not an async function: its frame would wait in the queue as well, which costs time when nobody waits and
// twice the memory when many do.
function runWith<T>(permit: Permit, fn: (permit: Permit) => T | PromiseLike<T>): Promise<T> {
  try {
    return Promise.resolve(fn(permit)).then(
      (value) => {
        permit.release();
        return value;
      },
      (error) => {
        permit.release();
        throw error;
      },
    );
  } catch (error) {
    permit.release();
    return Promise.reject(error);
  }
}
