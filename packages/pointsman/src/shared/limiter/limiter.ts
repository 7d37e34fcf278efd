/** The public class of the shared limiter. `admission.ts` asks the store, and starts what it admits. */

import { checkFunction, detached, invalid } from '../../sync/errors.js';
import type { LimiterLimits } from '../../sync/limiter/options.js';
import type { Rate } from '../../sync/limiter/rates.js';
import type { Weight } from '../../sync/limiter/rules.js';
import { type RunContext, runWith } from '../../sync/limiter/run.js';
import { labelOf, StoreError } from '../errors.js';
import { SharedLifecycle } from '../lifecycle.js';
import { checkStore, type Store } from '../store.js';
import { SharedAdmission } from './admission.js';
import { type CheckResult, checkResultOf, undecidedResultOf } from './check.js';
import { SharedRates } from './limits.js';
import {
  checkRequest,
  checkText,
  readSharedLimits,
  readSharedOptions,
  reserveNames,
  runNames,
  type SharedLimiterOptions,
  type SharedLimiterStats,
  type SharedReserveOptions,
  type SharedRunOptions,
  type SharedStartOptions,
  startNames,
  type TrySharedOptions,
  tryNames,
  type WhenUnavailable,
} from './options.js';
import type { SharedPermit } from './permit.js';

/**
 * Limits the rate of starts and the concurrency, for all processes together and for each key. Limiters with the same
 * name in the same namespace are one limiter; give all of them the same limits.
 *
 * - **Windows slide.** With `{ limit: 100, per: 60_000 }` no interval of 60 seconds contains more than 100 starts, by
 *   the store's clock; the clocks of the processes do not matter. With `burst` it is a token bucket.
 * - **A refusal uses up nothing**, nor does a request that gives up.
 * - **One round trip.** The store replies with the start time of a request, and takes its concurrency in the same step.
 *   With a concurrency of all requests and one of each key, it is two. With `lease`, most requests need none.
 * - **Fair turns.** FIFO within a key in one process; keys take turns; requests of several processes are served in
 *   the order in which the store received them. With a concurrency, a request that the rates hold back for more than 50
 *   ms holds no concurrency meanwhile, and asks again: such requests of several processes have no order among them.
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
export class SharedLimiter extends SharedLifecycle {
  /** The name, also the prefix of error messages. */
  readonly name: string;
  readonly #rates: SharedRates;
  readonly #whenUnavailable: WhenUnavailable;
  readonly #admission: SharedAdmission;

  /**
   * @param store Such as `redis` of `pointsman/redis` returns.
   * @param name The name of the limiter in the namespace of the store: a non-empty, well-formed string of at most 1000
   * characters.
   * @throws {TypeError | RangeError} if an argument is invalid.
   */
  constructor(store: Store, name: string, options: SharedLimiterOptions) {
    checkStore(store);
    checkText('name', name);
    const { limits, ...terms } = readSharedOptions(options);
    super(store, 'limiter', labelOf(name));
    this.name = name;
    this.#rates = new SharedRates(name, this._label, limits);
    this.#whenUnavailable = terms.whenUnavailable;
    this.#admission = new SharedAdmission(store, this._label, this.#rates, terms, this._activity);
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

  /** The number of permits of this process that have not been released. */
  get running(): number {
    return this._activity.held;
  }

  /** Whether no request of this process runs or waits. */
  get idle(): boolean {
    return this.waiting + this.running === 0;
  }

  /** A snapshot of this process's counters. */
  get stats(): SharedLimiterStats {
    const { stats, slots } = this.#admission;
    return { ...stats, batches: stats.batches + slots._metrics.batches };
  }

  /**
   * Waits until the request may start, and resolves to a permit, which the caller releases. FIFO within its key.
   *
   * `signal` and `timeout`, in milliseconds, end the wait at any time: in the queue of this process, while the store
   * decides, in the store's queue for concurrency, and until the start time. A start or concurrency that was granted
   * meanwhile is returned. If the start time is later than `timeout`, rejects at once. With `timeout: 0` the request
   * starts now or rejects.
   *
   * Rejects with the signal's reason, with a `TimeoutError`, with the reason of {@link close}, with a `QueueFullError` if
   * `maxWaiting` requests wait, with a {@link StoreError} if the store does not decide and `whenUnavailable` is `refuse`,
   * or with a `RangeError` or `TypeError` for bad options. A rejected request uses up nothing, unless the connection was
   * lost before the reply: then its start may count until the window has passed.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedLimiter } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const rate = { limit: 100, per: 60_000 };
   * const api = new SharedLimiter(redis(client), 'acquire', { rate, concurrency: 8 });
   * {
   *   using permit = await api.acquire({ key: 'tenant', timeout: 1_000 });
   *   console.log(permit.released, api.running); // false 1
   * }
   * await api.close();
   * client.disconnect();
   * ```
   */
  acquire(options: SharedStartOptions = {}): Promise<SharedPermit> {
    if (!(this instanceof SharedLimiter)) return Promise.reject(detached('acquire'));
    return this.#acquire(options, startNames);
  }

  /**
   * Resolves to a permit if the store can start the request at once, otherwise to `undefined`. May overtake requests that
   * wait in this process, but none to which the store has given a start time. Rejects like {@link acquire}.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedLimiter } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const store = redis(client);
   * const once = new SharedLimiter(store, 'tryAcquire', { rate: { limit: 1, per: 60_000 } });
   * const first = await once.tryAcquire();
   * console.log(first?.released, await once.tryAcquire()); // false undefined
   * first?.release();
   * await once.close();
   * client.disconnect();
   * ```
   */
  async tryAcquire(options: TrySharedOptions = {}): Promise<SharedPermit | undefined> {
    if (!(this instanceof SharedLimiter)) throw detached('tryAcquire');
    const { key, weight = 1 }: TrySharedOptions = Object(options);
    this.#check(options, tryNames, weight);
    const leased = this.#leased(key, weight);
    if (leased !== undefined) return leased;
    const permit = await this.#admission.tryStart(key, weight);
    return permit instanceof StoreError ? this.#tryUndecided(permit, key, weight) : permit;
  }

  /**
   * Calls `fn` when the request may start, and releases the permit when its result has settled. `drain` and `shutdown` wait
   * for that. Resolves or rejects as `fn` does, or rejects like {@link acquire} before it is called.
   *
   * `timeout` bounds the wait for the start, and `runTimeout` the work, in milliseconds: when it elapses, the signal in the
   * second argument of `fn` aborts, `run` rejects with the same `TimeoutError`, and the permit is released although `fn` may
   * continue. That signal also aborts with `signal`; `run` then still waits for `fn`.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedLimiter } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const api = new SharedLimiter(redis(client), 'run', { concurrency: 2 });
   * const work = async (n: number) => n * n;
   * const all = [1, 2, 3].map((n) => api.run(() => work(n), { runTimeout: 5_000 }));
   * console.log(await Promise.all(all)); // [ 1, 4, 9 ]
   * await api.close();
   * client.disconnect();
   * ```
   */
  async run<T>(
    fn: (permit: SharedPermit, context: RunContext) => T | PromiseLike<T>,
    options: SharedRunOptions = {},
  ): Promise<T> {
    if (!(this instanceof SharedLimiter)) throw detached('run');
    checkFunction('fn', fn);
    const permit = await this.#acquire(options, runNames);
    return runWith(permit as never, fn as never, options, this._label, this.#admission.stats);
  }

  /**
   * Decides at once whether a request of a key may start, and uses up its weight if so: for a server that answers or
   * refuses. With the weight 0 it uses up nothing: `allowed` says whether a request of weight 1 could start.
   *
   * The limiter needs at least one rate. `allowed` is false while the concurrency has no space for the weight or a request
   * waits for it, although the rates may have something left; `retryAfter` is then 1000, because it is unknown when it
   * will be free. There is no permit to release, so a check occupies no concurrency, and admitted requests are not counted
   * while they run: use {@link tryAcquire} to limit them. Times are milliseconds. Rejects like {@link acquire}; only
   * {@link close} cancels it. With `whenUnavailable: 'allow'` or `'share'` an undecided request has `remaining` 0 and no
   * `rates`.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedLimiter } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const perKey = { rate: { limit: 2, per: 60_000 } };
   * const api = new SharedLimiter(redis(client), 'check', { perKey });
   * const { allowed, remaining } = await api.check('user');
   * console.log(allowed, remaining); // true 1
   * console.log((await api.check('user', { weight: 2 })).allowed); // false
   * await api.close();
   * client.disconnect();
   * ```
   */
  async check(
    key?: string,
    { weight = 1, ...rest }: { readonly weight?: Weight | undefined } = {},
  ): Promise<CheckResult> {
    if (!(this instanceof SharedLimiter)) throw detached('check');
    const look = weight === 0;
    this.#check({ ...rest, key }, tryNames, look ? 1 : weight);
    if (!this.#rates.hasRates) throw new TypeError('check needs a limiter with a rate');
    const wanted = look ? 1 : weight;
    const { decision, index } = await this.#admission.ask(key, wanted, look);
    if (decision instanceof StoreError) {
      const allowed = await this.#checkUndecided(decision, key, wanted, look);
      return undecidedResultOf([...this.#rates.all, ...this.#rates.perKey], allowed);
    }
    const whole = this.#rates.nameOf(undefined, true);
    const result = checkResultOf(decision, look ? 0 : index, wanted, whole);
    if (result.allowed && !look) {
      this.#admission.stats.started++;
      this.#admission.stats.finished++;
    }
    return result;
  }

  /**
   * Waits until a request of the estimated weight may start, for example the tokens of a language model, and resolves to
   * a permit. Call {@link SharedPermit.settle} with the actual weight. Waits, is cancelled and rejects like
   * {@link acquire}.
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
   * `Retry-After`. Requests that already wait in another process keep the start times that the store has given them, and
   * the starts that another process has leased stay valid until its lease ends, at most 1 second and 1/128 of the window.
   *
   * Resolves when the store has replied; rejects with a {@link StoreError} if it does not by the `deadline`, with the reason
   * of {@link close}, or with a `RangeError` or `TypeError` for bad arguments.
   *
   * @example
   * ```ts
   * import { Redis } from 'ioredis';
   * import { redis } from 'pointsman/redis';
   * import { SharedLimiter } from 'pointsman/shared';
   *
   * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
   * const api = new SharedLimiter(redis(client), 'penalize', { rate: { limit: 9, per: 1_000 } });
   * await api.penalize(30_000, 'tenant');
   * console.log(await api.tryAcquire({ key: 'tenant' })); // undefined
   * console.log((await api.tryAcquire({ key: 'other' }))?.released); // false
   * await api.close();
   * client.disconnect();
   * ```
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
   * Changes limits in this process; a limit that is not given stays unchanged. Change them in all processes. Requests that
   * wait are decided by the new limits; what runs keeps running.
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
      const leased = this.#leased(key, weight);
      if (leased !== undefined) return Promise.resolve(leased);
      return this.#admission.acquire(key, weight, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Returns a permit for a leased start. With a concurrency there are no leases: each start takes a round trip anyway. */
  #leased(key: string | undefined, weight: Weight): SharedPermit | undefined {
    return weight === 1 && !this.#rates.isConcurrent ? this.#admission.startLeased(key) : undefined;
  }

  #check(options: SharedRunOptions, names: readonly string[], weight: Weight): void {
    checkRequest(options, names);
    this.#rates.check(weight);
    if (options.signal?.aborted) throw options.signal.reason;
    this.#open();
  }

  /** Applies `whenUnavailable` to a request that must not wait and that the store has not decided. */
  async #tryUndecided(
    error: StoreError,
    key: string | undefined,
    weight: Weight,
  ): Promise<SharedPermit | undefined> {
    const { fallback, permits } = this.#admission;
    if (this.#whenUnavailable === 'refuse') throw error;
    const isLocal = this.#whenUnavailable === 'share';
    const local = isLocal ? await fallback.tryStart(key, weight) : undefined;
    if (isLocal && local === undefined) return undefined;
    return permits.make({ grant: undefined, weight, local });
  }

  async #checkUndecided(
    error: StoreError,
    key: string | undefined,
    weight: Weight,
    look: boolean,
  ): Promise<boolean> {
    if (!look || this.#whenUnavailable === 'refuse') {
      const permit = await this.#tryUndecided(error, key, weight);
      permit?.release();
      return permit !== undefined;
    }
    return this.#whenUnavailable === 'allow' || this.#admission.fallback.couldStart(key);
  }

  /** Throws if the limiter or its store is closed. */
  #open(): void {
    this._refuseIfClosed();
    this._store.add(this);
  }

  /** @internal */
  async _end(reason: unknown): Promise<void> {
    this.#admission.rejectAll(reason);
    await this.#admission.close(reason);
  }
}
