/** The public class of the limiter. `admission.ts` decides which requests start, and when. */

import { Drainable, type Ending } from '../closable.js';
import { causeOf, checkFunction, detached, invalid } from '../errors.js';
import type { Mapped } from '../map.js';
import { checkOptions, type WaitOptions } from '../options.js';
import { Permit } from '../semaphore/permit.js';
import { nextMicrotask } from '../wait/give-up.js';
import { readWait } from '../wait/queue.js';
import { Admission } from './admission.js';
import type { StartRequest } from './lanes.js';
import { type MapContext, type MapOptions, map } from './map.js';
import {
  type LimiterLimits,
  type LimiterOptions,
  type LimiterStats,
  limitNames,
  type Reservation,
  type ReserveOptions,
  type RunOptions,
  readLimiterOptions,
  reserveNames,
  runNames,
  type StartOptions,
  startNames,
  type TryStartOptions,
  tryNames,
} from './options.js';
import type { Rate } from './rates.js';
import type { Weight } from './rules.js';
import { type RunContext, runWith, type Work } from './run.js';
import { logSoon, StartPermit } from './start.js';

/**
 * Limits how much runs at once and how much starts per time, for all requests together and for each key.
 *
 * - **All limits apply.** A request starts only if `concurrency`, each rate, and the limits of its key admit it.
 * - **Windows slide.** With `{ limit: 100, per: 60_000 }` no interval of 60 seconds, wherever it begins, contains more
 *   than 100 starts. With `burst` it is a token bucket.
 * - **Fair turns.** Highest priority first; keys of equal priority take turns; FIFO within a key. Light requests do not
 *   overtake a heavy one. A request that may start does not wait.
 * - **Giving up leaves no trace.** A request that leaves the queue uses up nothing of any rate. A key is forgotten when
 *   none of its requests runs or waits and its windows have passed.
 *
 * The time of a start is that at which the synchronous part of the function that {@link run} calls has returned, or one
 * microtask after the caller of {@link acquire} continues. Until then the start counts in full.
 *
 * In Workers (workerd), where requests share a limiter, a timer belongs to the request that set it: give a `timeout`
 * or a signal, as for a `Semaphore`.
 *
 * @example
 * ```ts
 * import { Limiter } from 'pointsman';
 *
 * // At most 100 requests and 50,000 tokens a minute, and at most 4 at once; 2 for each user.
 * const api = new Limiter({
 *   concurrency: 4,
 *   rate: [{ limit: 100, per: 60_000 }, { limit: 50_000, per: 60_000, name: 'tokens' }],
 *   perKey: { concurrency: 2 },
 * });
 *
 * const ask = async (prompt: string) => `answer to ${prompt}`;
 * const weight = { tokens: 1_200 };
 * console.log(await api.run(() => ask('a'), { key: 'ann', weight, timeout: 30_000 })); // answer to a
 * console.log(api.running, api.stats.finished); // 0 1
 * ```
 */
export class Limiter extends Drainable {
  readonly #admission: Admission;

  /**
   * @throws {RangeError | TypeError} for options that cannot be used, or without any limit.
   */
  constructor(options: LimiterOptions) {
    const read = readLimiterOptions(options);
    super(read.label);
    this.#admission = new Admission(this, read);
  }

  /** The maximum total weight of the running requests. {@link setLimits} changes it. */
  get concurrency(): number {
    return this.#admission.shared.concurrency;
  }

  /** The rates for all requests together. {@link setLimits} changes them. */
  get rate(): readonly Rate[] {
    return this.#admission.shared.rates;
  }

  /** The total weight of the running requests. */
  get running(): number {
    return this.#admission.shared.out;
  }

  /** The number of waiting requests. */
  get waiting(): number {
    return this.#admission.waiting;
  }

  /**
   * The number of keys that the limiter remembers: keys with a request that runs or waits, and keys with a start that
   * still counts for a rate. Requests without a key do not count.
   */
  get keyCount(): number {
    return this.#admission.lanes.byKey.size;
  }

  /** Whether the limiter is paused: {@link pause} was called after the last {@link resume}. */
  get paused(): boolean {
    return this.#admission.paused;
  }

  /** @internal */
  get _active(): number {
    return this.#admission.active;
  }

  /** Whether no request runs or waits. */
  get idle(): boolean {
    return this.#admission.active === 0 && this.#admission.waiting === 0;
  }

  /** Counters since the limiter was created. */
  get stats(): LimiterStats {
    return { ...this.#admission.stats };
  }

  /**
   * Waits until the request may start, and returns a permit. Releasing the permit frees its concurrency; what it used of
   * the rates comes back only with time.
   *
   * Rejects with the signal's reason, with a `TimeoutError`, with the reason of {@link close} or {@link cancel}, with a
   * `QueueFullError` if the queue is full, or with a `RangeError` or `TypeError` for bad options. A rejected request holds
   * nothing and uses up nothing.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 1 });
   * {
   *   using permit = await limiter.acquire({ priority: 1 });
   *   await limiter.acquire({ timeout: 5 }).catch((error) => console.log(error.name)); // TimeoutError
   * }
   * console.log(limiter.running); // 0
   * ```
   */
  acquire(options?: StartOptions): Promise<Permit> {
    try {
      const admission = this.#admission;
      if (options === undefined && admission.isFast && admission.startFast()) {
        return new Permit(admission.unkeyed, 1, true) as never;
      }
      const granted = admission.admit(
        options === undefined ? undefined : admission.read(options, startNames),
      );
      // The caller continues in the next microtask at the latest.
      if (granted instanceof Permit) nextMicrotask.then(() => logSoon(granted));
      return Promise.resolve(granted);
    } catch (error) {
      return Promise.reject(causeOf(error, this, Limiter, 'acquire'));
    }
  }

  /**
   * Waits until a request may start that is estimated to take this weight, for example the tokens of a language model.
   * Call {@link Reservation.settle} with what it has really taken.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ rate: { limit: 1_000, per: 60_000, name: 'tokens' } });
   * const reservation = await limiter.reserve({ tokens: 1_000 });
   * reservation.settle({ tokens: 400 });
   * console.log(limiter.tryAcquire({ weight: { tokens: 600 } })?.released); // false
   * ```
   */
  async reserve(estimate: Weight, options?: ReserveOptions): Promise<Reservation> {
    if (!(this instanceof Limiter)) throw detached('reserve');
    checkOptions(options ?? {}, reserveNames);
    const permit = await this.acquire({ ...options, weight: estimate });
    if (permit instanceof StartPermit) return permit;
    permit.release();
    throw new TypeError('reserve needs a limiter with a rate');
  }

  /**
   * Returns a permit if the request can start at once, otherwise `undefined`. Never overtakes the request whose turn it
   * is.
   *
   * @throws The reason of {@link close}, if closed; a `QueueFullError` for a new key if there are `maxKeys` already; a
   * `RangeError` or `TypeError` for bad options.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ rate: { limit: 1, per: 60_000 } });
   * console.log(limiter.tryAcquire()?.released); // false
   * console.log(limiter.tryAcquire()); // undefined
   * ```
   */
  tryAcquire(options?: TryStartOptions): Permit | undefined {
    if (!(this instanceof Limiter)) throw detached('tryAcquire');
    const admission = this.#admission;
    if (options === undefined && admission.isFast) {
      return admission.startFast() ? new Permit(admission.unkeyed, 1) : undefined;
    }
    const request = options === undefined ? undefined : admission.read(options, tryNames);
    if (request === undefined) this._refuse();
    const permit = admission.start(request);
    if (permit !== undefined) logSoon(permit);
    return permit;
  }

  /**
   * Calls `fn` when the request may start, and releases its concurrency when the result of `fn` settles, before the
   * caller continues. Resolves or rejects as `fn` does. If all limits allow it, `fn` starts before `run` returns.
   *
   * `timeout` bounds the wait for the start. `runTimeout` bounds the work: when it elapses, the signal passed to `fn`
   * aborts, the promise rejects with a `TimeoutError`, and the concurrency is released at once, even if `fn` continues.
   * The other options are those of {@link acquire}.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 2, rate: { limit: 1_000, per: 1_000 } });
   * const squares = [1, 2, 3].map((n) => limiter.run(async () => n * n));
   * console.log(await Promise.all(squares)); // [ 1, 4, 9 ]
   *
   * const hang = (signal: AbortSignal) =>
   *   new Promise((_, reject) => {
   *     signal.onabort = () => reject(signal.reason);
   *   });
   * const run = limiter.run((_permit, { signal }) => hang(signal), { runTimeout: 5 });
   * await run.catch((error) => console.log(error.name)); // TimeoutError
   * ```
   */
  run<T>(
    fn: (permit: Permit, context: RunContext) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<T> {
    try {
      checkFunction('fn', fn);
      const admission = this.#admission;
      const request = options === undefined ? undefined : admission.read(options, runNames);
      const granted = admission.admit(request);
      if (granted instanceof Permit) return this.#call(fn, granted, request);
      return granted.then((permit) => this.#call(fn, permit, request));
    } catch (error) {
      return Promise.reject(causeOf(error, this, Limiter, 'run'));
    }
  }

  /**
   * Runs `fn` for each input, and returns the results as an async iterable. One input is pulled ahead and waits for its
   * start. An error, an abort or leaving the loop aborts the signals of running functions and closes the source.
   *
   * In a loop, nothing is pulled while as many results are unread as may run at once (1,000 if concurrency is unbounded),
   * nor while twice as many run or are unread. Each iteration of the results runs anew.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 2 });
   * const squares = limiter.map([1, 2, 3], async (n, { index }) => n * n + index);
   * console.log(await squares.toArray()); // [ 1, 5, 11 ]
   *
   * for await (const square of squares) {
   *   console.log(square); // 1
   *   break;
   * }
   * ```
   */
  map<Input, Output>(
    inputs: Iterable<Input | PromiseLike<Input>> | AsyncIterable<Input>,
    fn: (input: Input, context: MapContext) => Output | PromiseLike<Output>,
    options?: MapOptions<Input>,
  ): Mapped<Output> {
    if (!(this instanceof Limiter)) throw detached('map');
    return map(this, inputs, fn, options);
  }

  /** Starts no more requests until {@link resume}. Running requests continue, and new ones wait. */
  pause(): void {
    if (!(this instanceof Limiter)) throw detached('pause');
    this.#admission.pause(true);
  }

  /** Starts requests again after {@link pause}. */
  resume(): void {
    if (!(this instanceof Limiter)) throw detached('resume');
    this.#admission.pause(false);
  }

  /**
   * Starts no request, or no request of this key, for `ms` milliseconds: for a server that answers with `Retry-After`.
   * The penalty that ends last counts.
   *
   * @throws {RangeError | TypeError} unless `ms` is a finite number from 0 on.
   * @throws {QueueFullError} for a new key if there are `maxKeys` already.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 4 });
   * limiter.penalize(60_000, 'busy.example');
   * console.log(limiter.tryAcquire({ key: 'busy.example' })); // undefined
   * console.log(limiter.tryAcquire({ key: 'other.example' })?.released); // false
   * ```
   */
  penalize(ms: number, key?: unknown): void {
    if (!(this instanceof Limiter)) throw detached('penalize');
    if (!(Number.isFinite(ms) && ms >= 0)) {
      throw invalid('ms', ms, 'a finite number of milliseconds from 0 on', 'number');
    }
    this.#admission.penalize(ms, key);
  }

  /**
   * Changes limits at once; a limit that is not given stays unchanged. Revokes nothing: running requests continue.
   *
   * Earlier starts count for the new limits: a rate keeps its log if there was one of the same name and kind, and assumes
   * the worst if a longer `per` reaches further back. A new rate counts as used up if any request has started. A key that
   * was forgotten starts anew. A waiting request whose weight exceeds a new limit is rejected with a `RangeError` when its
   * turn comes.
   *
   * @throws {RangeError | TypeError} for limits that cannot be used; then nothing has changed.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 1 });
   * const first = await limiter.acquire();
   * const second = limiter.acquire();
   * console.log(limiter.waiting); // 1
   * limiter.setLimits({ concurrency: 2 });
   * console.log(limiter.waiting); // 0
   * ```
   */
  setLimits(limits: LimiterLimits): void {
    if (!(this instanceof Limiter)) throw detached('setLimits');
    checkOptions(limits, limitNames, 'limits');
    this.#admission.change(limits);
    this.#admission.serve();
  }

  /**
   * Resolves when the queue has space for a request, in FIFO order; at once if the limiter has no `maxWaiting`. With a
   * `maxWaiting` of 0, resolves when a request without options would start at once.
   *
   * The space is reserved until the `await` of the caller has continued: no other caller gets it, but a request that is
   * made without `waitForSpace` may take it. Rejects with the signal's reason, with a `TimeoutError`, or with the reason
   * of {@link close}.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 2, maxWaiting: 10 });
   * for (let n = 0; n < 100; n++) {
   *   await limiter.waitForSpace();
   *   limiter.run(async () => n);
   * }
   * await limiter.drain();
   * console.log(limiter.stats.finished); // 100
   * ```
   */
  async waitForSpace(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Limiter)) throw detached('waitForSpace');
    const request = readWait(options);
    this._refuse();
    const space = this.#admission.waitForSpace(request);
    if (space) await space;
  }

  #call<T>(fn: Work<T>, permit: Permit, request: StartRequest | undefined): Promise<T> {
    return runWith(permit, fn, request, this._label, this.#admission.stats);
  }

  /** @internal */
  override _end(reason?: unknown): Ending {
    const ending = super._end(reason);
    this.#admission.close(ending.reason);
    return ending;
  }

  /** @internal */
  override _dismiss(reason: unknown): void {
    this.#admission.rejectAll(reason);
  }
}
