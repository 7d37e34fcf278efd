/** The public class of the shared limiter. `admission.ts` asks the store, and starts what it admits. */

import { asyncDispose } from '../../sync/dispose.js';
import { ClosedError, checkFunction, detached, invalid } from '../../sync/errors.js';
import type { LimiterLimits, LimiterStats } from '../../sync/limiter/options.js';
import type { Rate } from '../../sync/limiter/rates.js';
import type { Weight } from '../../sync/limiter/rules.js';
import { type RunContext, runWith } from '../../sync/limiter/run.js';
import { checkWaitOptions, type WaitOptions } from '../../sync/options.js';
import { giveUpOn } from '../../sync/wait/give-up.js';
import { StoreError } from '../errors.js';
import { Activity } from '../metrics.js';
import { type BaseStore, checkStore, type Store } from '../store.js';
import { SharedAdmission } from './admission.js';
import { type CheckResult, checkResultOf } from './check.js';
import { SharedRates } from './limits.js';
import {
  checkRequest,
  checkText,
  readSharedLimits,
  readSharedOptions,
  reserveNames,
  runNames,
  type SharedLimiterOptions,
  type SharedReserveOptions,
  type SharedRunOptions,
  type SharedStartOptions,
  startNames,
  type TrySharedOptions,
  tryNames,
  type WhenUnavailable,
} from './options.js';
import type { SharedPermit } from './permit.js';
import { Slots, type Taken } from './slots.js';

/** Counters since the limiter was created, of this process. */
export interface SharedLimiterStats extends LimiterStats {
  /** Requests that the store has not decided in time, or refused because it cannot be used. */
  readonly undecided: number;
  /** Batches sent to the store. */
  readonly batches: number;
}

/**
 * Limits the rate of starts and the concurrency, for all processes together and for each key. Limiters with the same
 * name in the same namespace are one limiter; give all of them the same limits.
 *
 * - **Windows slide.** With `{ limit: 100, per: 60_000 }` no interval of 60 seconds contains more than 100 starts, by
 *   the store's clock; the clocks of the processes do not matter. With `burst` it is a token bucket.
 * - **A refusal uses up nothing**, nor does a request that gives up.
 * - **One round trip.** The store replies with the start time of a request. With `lease`, most requests need none.
 * - **Fair turns.** FIFO within a key in one process; keys take turns; requests of several processes are served in
 *   the order in which the store received them.
 * - **Concurrency** is held by a session. What a process that dies or is suspended holds is free when its lease has
 *   ended, after the store's `ttl`.
 * - **A decision in time.** If the store is slow or unreachable, `whenUnavailable` decides at the `deadline`.
 *
 * Of limits above 64, one 64th may stay unused, because the store keeps at most about 200 start times of each rate.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { redis } from 'pointsman/redis';
 * import { SharedLimiter } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const store = redis(client);
 * const api = new SharedLimiter(store, 'api', { rate: { limit: 100, per: 60_000 } });
 * console.log(await api.run(async () => 'done', { timeout: 5_000 })); // done
 * await api.close();
 * client.disconnect();
 * ```
 */
export class SharedLimiter {
  readonly name: string;
  readonly #label: string;
  readonly #store: BaseStore;
  readonly #rates: SharedRates;
  readonly #whenUnavailable: WhenUnavailable;
  readonly #activity = new Activity();
  readonly #admission: SharedAdmission;
  readonly #slots: Slots;
  #isOpen = false;
  #refusal: { readonly reason: unknown } | undefined;
  #closing: Promise<void> | undefined;
  #ending: Promise<void> | undefined;

  /**
   * @param store Such as `redis` of `pointsman/redis` returns.
   * @throws {TypeError | RangeError} if an argument is invalid.
   */
  constructor(store: Store, name: string, options: SharedLimiterOptions) {
    checkStore(store);
    checkText('name', name);
    const { limits, ...terms } = readSharedOptions(options);
    this.name = name;
    this.#label = `${name}: `;
    this.#store = store;
    this.#rates = new SharedRates(name, this.#label, limits);
    this.#whenUnavailable = terms.whenUnavailable;
    this.#admission = new SharedAdmission(store, this.#label, this.#rates, terms, this.#activity);
    this.#slots = new Slots(store, this.#rates);
  }

  /** The maximum total weight of the running requests of all processes. {@link setLimits} changes it. */
  get concurrency(): number {
    return this.#rates.concurrency;
  }

  /** The rates for all requests together. {@link setLimits} changes them. */
  get rate(): readonly Rate[] {
    return this.#rates.all.map((rate) => ({ ...rate }));
  }

  /** The rates for each key. {@link setLimits} changes them. */
  get perKey(): { readonly concurrency: number; readonly rate: readonly Rate[] } {
    const { keyConcurrency: concurrency } = this.#rates;
    return { concurrency, rate: this.#rates.perKey.map((rate) => ({ ...rate })) };
  }

  /** The number of requests of this process that have not started. */
  get waiting(): number {
    return this.#activity.waiting;
  }

  /** The number of permits of this process that have not been released. */
  get running(): number {
    return this.#activity.held;
  }

  /** Whether no request of this process runs or waits. */
  get idle(): boolean {
    return this.waiting + this.running === 0;
  }

  get stats(): SharedLimiterStats {
    return { ...this.#admission.stats };
  }

  /** Whether {@link close} or {@link shutdown} has been called. */
  get closed(): boolean {
    return this.#refusal !== undefined;
  }

  /**
   * Waits until the request may start, and resolves to a permit. If the store says that this takes longer than
   * `timeout`, rejects at once.
   *
   * Rejects with the signal's reason, with a `TimeoutError`, with the reason of {@link close}, with a `QueueFullError`,
   * with a {@link StoreError} if the store does not decide and `whenUnavailable` is `refuse`, or with a `RangeError` or
   * `TypeError` for bad options. A rejected request uses up nothing.
   */
  acquire(options: SharedStartOptions = {}): Promise<SharedPermit> {
    if (!(this instanceof SharedLimiter)) return Promise.reject(detached('acquire'));
    return this.#acquire(options, startNames);
  }

  /** Resolves to a permit if the request can start at once, otherwise to `undefined`. Rejects like {@link acquire}. */
  async tryAcquire(options: TrySharedOptions = {}): Promise<SharedPermit | undefined> {
    if (!(this instanceof SharedLimiter)) throw detached('tryAcquire');
    const { key, weight = 1 }: TrySharedOptions = Object(options);
    this.#check(options, tryNames, weight);
    if (weight === 1 && !this.#rates.isConcurrent) {
      const leased = this.#admission.startLeased(key);
      if (leased !== undefined) return leased;
    }
    const slots = await this.#take(key, weight, {}, false);
    if (slots === undefined) return undefined;
    if (slots instanceof StoreError) return this.#tryUndecided(slots, key, weight);
    const { decision, groups, index } = await this.#admission.decide(key, weight, false);
    let permit: SharedPermit | undefined;
    try {
      if (decision instanceof StoreError) permit = this.#tryUndecided(decision, key, weight);
      else if (index < decision.count)
        permit = this.#admission.permits.make(groups, decision.at, weight);
      if (permit?._isGranted && !slots.valid) {
        this.#admission.permits.withdraw(permit);
        permit = undefined;
      }
    } finally {
      this.#activity.count(-1, 0);
      if (permit === undefined) slots.release();
    }
    permit?._onRelease(slots.release);
    return permit;
  }

  /**
   * Calls `fn` when the request may start. `drain` and `shutdown` wait until its result has settled. Resolves or rejects
   * as `fn` does. `timeout` bounds the wait for the start, and `runTimeout` the work, as for a `Limiter`.
   */
  async run<T>(
    fn: (permit: SharedPermit, context: RunContext) => T | PromiseLike<T>,
    options: SharedRunOptions = {},
  ): Promise<T> {
    if (!(this instanceof SharedLimiter)) throw detached('run');
    checkFunction('fn', fn);
    const permit = await this.#acquire(options, runNames);
    return runWith(permit as never, fn as never, options, this.#label, this.#admission.stats);
  }

  /**
   * Decides at once whether a request of a key may start, and uses up its weight if so: for a server that answers or
   * refuses. With the weight 0 it uses up nothing: `allowed` says whether a request of weight 1 could start.
   *
   * Applies only the rates, of which the limiter needs at least one: it grants no permit to release. Rejects like
   * {@link acquire}. With `whenUnavailable: 'allow'` or `'share'` an undecided request has `remaining` 0 and no `rates`.
   */
  async check(
    key?: string,
    { weight = 1, ...rest }: { readonly weight?: Weight | undefined } = {},
  ): Promise<CheckResult> {
    if (!(this instanceof SharedLimiter)) throw detached('check');
    const look = weight === 0;
    this.#check({ ...rest, key }, tryNames, look ? 1 : weight);
    if (this.#rates.all.length + this.#rates.perKey.length === 0) {
      throw new TypeError('check needs a limiter with a rate');
    }
    const wanted = look ? 1 : weight;
    const { decision, groups, index } = await this.#admission.decide(key, wanted, look);
    if (decision instanceof StoreError) {
      let allowed: boolean;
      if (look && this.#whenUnavailable === 'share') {
        allowed = await this.#admission.fallback.couldStart(key);
      } else {
        const permit = this.#tryUndecided(decision, key, wanted);
        permit?.release();
        allowed = permit !== undefined;
      }
      const [first] = [...this.#rates.all, ...this.#rates.perKey];
      const { limit = 0, per = 0, burst = limit } = first ?? {};
      const wait = per / Math.max(1, limit);
      const retryAfter = allowed ? 0 : wait;
      return { allowed, limit: burst, remaining: 0, reset: per, retryAfter, rates: [] };
    }
    const whole = this.#rates.nameOf(undefined, true);
    const result = checkResultOf(groups, decision, look ? 0 : index, wanted, whole);
    if (result.allowed && !look) {
      this.#admission.stats.started++;
      this.#admission.stats.finished++;
    }
    return result;
  }

  /**
   * Waits until a request of the estimated weight may start, for example the tokens of a language model, and resolves to
   * a permit. Call {@link SharedPermit.settle} with the actual weight.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedLimiter } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const rate = { limit: 50_000, per: 60_000, name: 'tokens' };
   * const model = new SharedLimiter(redis(client), 'model', { rate });
   * {
   *   using reservation = await model.reserve({ tokens: 2_000 });
   *   reservation.settle({ tokens: 812 });
   * }
   * await model.close();
   * client.disconnect();
   * ```
   */
  reserve(estimate: Weight, options: SharedReserveOptions = {}): Promise<SharedPermit> {
    if (!(this instanceof SharedLimiter)) return Promise.reject(detached('reserve'));
    return this.#acquire(options, reserveNames, () => estimate);
  }

  /**
   * Delays all starts, or those of this key, for `ms` milliseconds, in all processes: for a server that answers with
   * `Retry-After`. Requests that already wait in another process keep the start times that the store has given them.
   *
   * Resolves when the store has replied; rejects with a {@link StoreError} if it does not by the `deadline`.
   */
  async penalize(ms: number, key?: string): Promise<void> {
    if (!(this instanceof SharedLimiter)) throw detached('penalize');
    if (!(Number.isFinite(ms) && ms >= 0)) {
      throw invalid('ms', ms, 'a finite number of milliseconds from 0 on', 'number');
    }
    if (key !== undefined) checkText('key', key);
    this.#open();
    await this.#admission.penalize(ms, key);
  }

  /**
   * Changes limits in this process; a limit that is not given stays unchanged. Change them in all processes.
   *
   * Earlier starts count for the new limits: a rate of the same name and kind keeps them, and assumes the worst if a
   * longer `per` reaches further back. A new rate counts as used up if the store remembers any start of the limiter.
   *
   * @throws {RangeError | TypeError} for limits that cannot be used; then nothing has changed.
   */
  setLimits(limits: LimiterLimits): void {
    if (!(this instanceof SharedLimiter)) throw detached('setLimits');
    this.#rates.change(readSharedLimits(limits));
    this.#admission.changed();
  }

  /**
   * Resolves when no request of this process runs or waits. Rejects with a `TimeoutError` that says how many do, or with
   * the signal's reason.
   */
  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof SharedLimiter)) throw detached('drain');
    await this.#activity.drain(options, this.#label);
  }

  /**
   * Shuts down gracefully: refuses new requests with a `ClosedError`, serves those that wait, and closes when the last
   * permit is released. `timeout` and `signal` bound only this wait; the limiter then stays closed to new requests.
   */
  async shutdown(options: WaitOptions = {}): Promise<void> {
    if (!(this instanceof SharedLimiter)) throw detached('shutdown');
    checkWaitOptions(options);
    this.#refusal ??= { reason: this.#closedError() };
    this.#ending ??= this.#activity.drain().then(() => this.#close(this.#refusal?.reason));
    await this.#activity.drain(options, this.#label);
    await this.#ending;
  }

  /**
   * Closes at once: refuses new requests and rejects those that wait with `reason`, any value, by default a
   * `ClosedError`. Returns unused starts. Permits stay valid until they are released. A second call returns the
   * promise of the first.
   */
  close(reason?: unknown): Promise<void> {
    if (!(this instanceof SharedLimiter)) return Promise.reject(detached('close'));
    const given = reason === undefined ? this.#closedError() : reason;
    this.#refusal ??= { reason: given };
    return this.#close(given);
  }

  /** Calls {@link shutdown} without options, for `await using`. */
  [asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  /** Not an async function, which would be slower where a lease grants the permit. */
  #acquire(
    options: SharedRunOptions,
    names: readonly string[],
    weigh = ({ weight = 1 }: SharedRunOptions): Weight => weight,
  ): Promise<SharedPermit> {
    try {
      const weight = weigh(Object(options));
      this.#check(options, names, weight);
      const { key } = options;
      const { isConcurrent } = this.#rates;
      const leased = weight === 1 && !isConcurrent ? this.#admission.startLeased(key) : undefined;
      if (leased !== undefined) return Promise.resolve(leased);
      // Here, because a request for concurrency waits before it comes to the admission.
      this.#admission.refuseIfFull();
      if (isConcurrent) return this.#acquireSlots(options, weight);
      return this.#admission.acquire(key, weight, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #acquireSlots(options: SharedRunOptions, weight: Weight): Promise<SharedPermit> {
    const { key, signal, timeout = Infinity } = options;
    const expires = performance.now() + timeout;
    const slots = await this.#take(key, weight, { signal, timeout }, true);
    if (slots instanceof StoreError) return this.#undecided(slots, key, weight, options);
    const taken = slots as Taken;
    let permit: SharedPermit;
    try {
      if (this.#closing !== undefined) {
        this.#activity.count(-1, 0);
        throw this.#refusal?.reason;
      }
      const left = Math.max(0, expires - performance.now());
      const granted = this.#admission.acquire(key, weight, { signal, timeout: left });
      // Counts as waiting in the admission by now, so the limiter never appears idle.
      this.#activity.count(-1, 0);
      permit = await granted;
    } catch (error) {
      taken.release();
      throw error;
    }
    permit._onRelease(taken.release);
    if (taken.valid || !permit._isGranted) return permit;
    // A process that was suspended while the request waited has lost its slots to others.
    const left = Math.max(0, expires - performance.now());
    const again = this.#acquireSlots({ ...options, timeout: left }, weight);
    this.#admission.permits.withdraw(permit);
    return again;
  }

  /**
   * Takes the concurrency of a request. Resolves to an error if the store does not answer, to undefined if nothing is free
   * and `wait` is false, or to the slots; the request then still counts as waiting.
   */
  async #take(
    key: string | undefined,
    weight: Weight,
    { signal, timeout }: WaitOptions,
    wait: boolean,
  ): Promise<Taken | StoreError | undefined> {
    this.#activity.count(1, 0);
    if (!this.#rates.isConcurrent) return { valid: true, release: () => {} };
    const controller = new AbortController();
    const stop = giveUpOn({ signal }, (reason) => controller.abort(reason), String);
    let isOver = false;
    // A wait in the store's queue may be long; whether the store answers at all is asked beside it.
    this.#admission.decide(undefined, 1, true).then(
      ({ decision }) => {
        if (decision instanceof StoreError && !isOver) controller.abort(decision);
      },
      // Closing ends the wait for the concurrency, too.
      () => {},
    );
    try {
      const given = { signal: controller.signal, timeout };
      const slots = await this.#slots.take(key, weight, given, wait);
      if (slots === undefined) this.#activity.count(-1, 0);
      return slots;
    } catch (error) {
      this.#activity.count(-1, 0);
      if (error instanceof StoreError) return error;
      throw error;
    } finally {
      isOver = true;
      stop();
    }
  }

  #check(options: SharedRunOptions, names: readonly string[], weight: Weight): void {
    checkRequest(options, names);
    this.#rates.check(weight);
    if (options.signal?.aborted) throw options.signal.reason;
    this.#open();
  }

  /** Applies `whenUnavailable` to a request that the store has not decided. */
  async #undecided(
    error: StoreError,
    key: string | undefined,
    weight: Weight,
    { signal, timeout }: WaitOptions,
  ): Promise<SharedPermit> {
    if (this.#whenUnavailable === 'refuse') throw error;
    const { fallback } = this.#admission;
    let release = (): void => {};
    if (this.#whenUnavailable === 'share') {
      this.#activity.count(1, 0);
      try {
        release = await fallback.start(key, weight, { signal, timeout });
      } finally {
        this.#activity.count(-1, 0);
      }
    }
    const permit = this.#admission.permits.make([], [], weight);
    permit._onRelease(release);
    return permit;
  }

  /** The same for a request that does not wait. */
  #tryUndecided(
    error: StoreError,
    key: string | undefined,
    weight: Weight,
  ): SharedPermit | undefined {
    if (this.#whenUnavailable === 'refuse') throw error;
    let release: (() => void) | undefined = () => {};
    if (this.#whenUnavailable === 'share') release = this.#admission.fallback.tryStart(key, weight);
    if (release === undefined) return undefined;
    const permit = this.#admission.permits.make([], [], weight);
    permit._onRelease(release);
    return permit;
  }

  #closedError(): ClosedError {
    return new ClosedError(`${this.#label}the limiter is closed`);
  }

  /** Throws if the limiter or its store is closed. */
  #open(): void {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    this.#store.refuseIfClosed();
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#store.add(this);
  }

  #close(reason: unknown): Promise<void> {
    this.#admission.rejectAll(reason);
    this.#closing ??= this.#end(reason);
    return this.#closing;
  }

  async #end(reason: unknown): Promise<void> {
    await this.#slots.close(reason);
    await this.#admission.close(reason);
    this.#store.delete(this);
  }
}
