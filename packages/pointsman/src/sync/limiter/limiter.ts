/**
 * At most so much at once, and at most so much in time.
 *
 * The law. Something starts when it is its turn and there is room for its weight in every rule: the shared ones, and
 * those of its key.
 * - `concurrency`: what runs never weighs more.
 * - A rate without `burst`: in no `per` milliseconds, wherever they begin and without the moment at which they end, does
 *   more than `limit` start. With `burst`: in any `t` milliseconds at most `burst + limit * t / per`.
 * - Turns: of the keys whose first waiter may start by the rules of its key, the one with the highest priority, and
 *   equals in turns. Within a key, the highest priority, and equals in the order in which they came. Whoever's
 *   turn it is waits for the shared rules, and nobody overtakes it: what is light never starves what is heavy. A key
 *   that its own rules hold back is passed over, and keeps its turn.
 * - Nobody waits who may start.
 *
 * The algorithm. `#serve` lets in whoever's turn it is for as long as the rules allow, and then sets one timer for
 * the earliest moment at which time alone changes something. Whatever else changes something ends in `#serve`.
 *
 * A start is logged after it has surely happened: when the synchronous part of a function has returned, or in the
 * microtask after the one that goes on with a permit. Until then it counts in full. So the law holds for the moments
 * at which things really start, with whatever else the event loop does between letting in and starting.
 */

import { Drainable, type Ending } from '../closable.js';
import {
  cancelledError,
  causeOf,
  checkFunction,
  detached,
  fullError,
  invalid,
  QueueFullError,
  timedOut,
} from '../errors.js';
import { checkOptions, checkTimeout, type WaitOptions } from '../options.js';
import { HandedPermit, Permit } from '../semaphore/permit.js';
import { isOver, nextMicrotask, winContest } from '../wait/give-up.js';
import { insert, remove } from '../wait/heap.js';
import { begin, readRequest, rejection, settle, WaitQueue } from '../wait/queue.js';
import { Reservations } from '../wait/reservations.js';
import { Listeners } from './events.js';
import { type Age, Lane, Lanes, type StartRequest } from './lanes.js';
import { type MapContext, type MapOptions, type Mapped, map } from './map.js';
import {
  type LimiterEvents,
  type LimiterLimits,
  type LimiterOptions,
  type LimiterStats,
  limitNames,
  type RunOptions,
  readLimiterOptions,
  type Scheduled,
  type StartOptions,
  type TryStartOptions,
} from './options.js';
import type { Rate } from './rates.js';
import { type ReadLimits, Rules, readLimits, readPerKey, type Weight, weighs } from './rules.js';
import { Handle } from './scheduled.js';
import { type Starting, StartPermit } from './start.js';
import { Time } from './time.js';
import { callWithin, type RunContext, unbounded, type Work } from './work.js';

const tryNames: ReadonlySet<string> = new Set(['key', 'weight', 'priority']);
const startNames: ReadonlySet<string> = new Set([...tryNames, 'signal', 'timeout']);
const runNames: ReadonlySet<string> = new Set([...startNames, 'runTimeout']);
const nothing = { key: undefined, priority: 0, weight: 1, signal: undefined };

/**
 * Lets at most so much run at once, and at most so much start in time, for all together and for each key.
 *
 * - **Both hold at once.** A start needs room in every rule: `concurrency`, each rate, and the rules of its key.
 * - **Windows slide.** With `{ limit: 100, per: 60_000 }` no 60 seconds, wherever they begin, see more than 100 starts;
 *   not 100 at the end of one minute and 100 at the beginning of the next. With `burst` it is a token bucket.
 * - **Fair turns.** The highest priority first; keys of the same priority take turns; within a key first come, first
 *   served. What is heavy waits for room and is not overtaken by what is light.
 * - **Nobody waits who may start.** One timer at most is set, for the earliest useful moment, and none when nobody waits
 *   for time.
 * - **Giving up leaves no trace.** Who gives up uses up nothing of any rate. A key is forgotten when nothing of it runs
 *   or waits and its rates have forgotten it.
 * - **The caller's context is kept.** Promises are native: `AsyncLocalStorage` sees whoever waited.
 *
 * A start counts from the moment after which it has surely happened: when the synchronous part of a function that
 * {@link run} called has returned, and one microtask after whoever awaited {@link acquire} goes on. So the law holds for
 * clocks that are read in the function, however busy the event loop is.
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
  readonly #most: number;
  readonly #maxKeys: number;
  /** Whether a full queue rejects the oldest request instead of the new one. */
  readonly #dropsOldest: boolean;
  /** @internal */
  readonly _time: Time;
  readonly #shared = new Rules();
  /** What the rules of a new key are made from; it never starts anything itself. */
  readonly #each = new Rules();
  #perKey: ReadLimits | undefined;
  readonly #lanes = new Lanes(this);
  /** The lane of those who have no key. It is always there, and not among the keys. */
  readonly #unkeyed = new Lane(this);
  /** All waiting requests, in the order in which they are dropped; empty unless `drop-oldest` is set. */
  readonly #ages: Age[] = [];
  #arrivals = 0;
  #waiting = 0;
  readonly #stats = { started: 0, finished: 0, failed: 0, dropped: 0, cancelled: 0 };
  #paused = false;
  /** Whether nothing matters but the concurrency of all together. */
  #plain = true;
  /** The waiting callers of `waitForSpace`. */
  readonly #spaces: WaitQueue<void>;
  readonly #reservations = new Reservations(
    () => {
      const { started, cancelled, dropped } = this.#stats;
      return started + cancelled + dropped + this.#waiting;
    },
    () => {
      if (this.#spaces.length > 0) this.#serve();
    },
  );
  readonly #listeners = new Listeners();
  /** Whether anybody is told anything. */
  #watched = false;
  /** Whether somebody has left the queue, or something has come back, and nobody was told. */
  #left = false;
  #back = false;

  /**
   * @throws {RangeError | TypeError} for options that cannot be used, and without any limit.
   */
  constructor(options: LimiterOptions) {
    const { label, most, maxKeys, whenFull, clock, limits } = readLimiterOptions(options);
    super(label);
    this.#most = most;
    this.#maxKeys = maxKeys;
    this.#dropsOldest = whenFull === 'drop-oldest' && most < Infinity;
    this._time = new Time(clock, () => this.#serve());
    this.#spaces = new WaitQueue(label);
    this.#change(limits);
  }

  /** How much weight may be running at once. {@link setLimits} changes it. */
  get concurrency(): number {
    return this.#shared.concurrency;
  }

  /** The rates that hold for all together. {@link setLimits} changes them. */
  get rate(): readonly Rate[] {
    return this.#shared.rates;
  }

  /** How much weight runs. */
  get running(): number {
    return this.#shared.out;
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * The number of keys that the limiter remembers: keys with a request that runs or waits, and keys with a start that
   * still counts for a rate. Requests without a key do not count.
   */
  get keyCount(): number {
    return this.#lanes.byKey.size;
  }

  /** Whether {@link pause} has been called, and not {@link resume}. */
  get paused(): boolean {
    return this.#paused;
  }

  /** @internal */
  get _active(): number {
    return this.#stats.started - this.#stats.finished;
  }

  /** Whether nothing runs and nobody waits. */
  get idle(): boolean {
    return this._active === 0 && this.#waiting === 0;
  }

  /** How many of what there were since it was made. */
  get stats(): LimiterStats {
    return { ...this.#stats };
  }

  /**
   * Starts something: waits until it is this request's turn, and takes what it weighs. Releasing the permit gives the
   * concurrency back; what has been used up of rates comes back with time only.
   *
   * Never throws: it rejects with the signal's reason or a `TimeoutError` for a wait given up, with the reason of
   * {@link close} or {@link cancel}, with a `QueueFullError` where `maxWaiting` wait, and with a `RangeError` or
   * `TypeError` for options that cannot be used. After a rejection nothing is held, and nothing of any rate is used up.
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
      if (options === undefined && this.#plain && this.#enterPlain()) {
        return new Permit(this.#unkeyed, 1, true) as never;
      }
      const granted =
        options === undefined ? this.#ask() : this._request(this._read(options, startNames));
      // The caller goes on in the next microtask but one at the latest.
      if (granted instanceof Permit) nextMicrotask.then(() => logSoon(granted));
      return Promise.resolve(granted);
    } catch (error) {
      return Promise.reject(causeOf(error, this, Limiter, 'acquire'));
    }
  }

  /**
   * Starts something if that needs no waiting; otherwise it is `undefined` and nothing has changed. It never overtakes
   * the request whose turn it is.
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
    if (options === undefined && this.#plain) {
      return this.#enterPlain() ? new Permit(this.#unkeyed, 1) : undefined;
    }
    const permit = this.#enter(this._read(options, tryNames));
    if (permit !== undefined) logSoon(permit);
    return permit;
  }

  /**
   * Calls `fn` when its turn comes, and releases its concurrency when the result of `fn` settles, before the caller
   * continues. Resolves or rejects as `fn` does. If all limits allow it, `fn` starts before `run` returns.
   *
   * `timeout` bounds the wait for the turn. `runTimeout` bounds the work: when it elapses, the signal passed to `fn`
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
      const request = options === undefined ? undefined : this._read(options);
      if (request !== undefined) request.runs = true;
      const granted = request === undefined ? this.#ask(true) : this._request(request);
      if (granted instanceof Permit) return this._call(fn, granted, request);
      return granted.then((permit) => this._call(fn, permit, request));
    } catch (error) {
      return Promise.reject(causeOf(error, this, Limiter, 'run'));
    }
  }

  /**
   * As {@link run}, with a handle that tells how far it is, and with which it can be given another priority or be taken
   * out of the queue. Never throws: whatever is wrong, the result rejects.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 1 });
   * const first = limiter.schedule(async () => 'first');
   * const second = limiter.schedule(async () => 'second');
   * console.log(first.state, second.state); // running waiting
   * second.priority = 1;
   * console.log(await second.result); // second
   * ```
   */
  schedule<T>(
    fn: (permit: Permit, context: RunContext) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Scheduled<T> {
    if (!(this instanceof Limiter)) throw detached('schedule');
    return new Handle(this, fn, options);
  }

  /**
   * Runs `fn` for each input, and reads as the results. One input is pulled ahead and waits for its turn, so concurrency
   * and rates pull, and the source may use this limiter too; results that nobody reads hold it back. An error, an abort
   * or leaving the loop aborts what runs by the `signal` that `fn` is given, and closes the source.
   *
   * In a loop, nothing is pulled while as many results are ready and unread as may run at once (1,000 where concurrency
   * has no bound), nor while twice as many run or are unread. Each read is a run of its own.
   *
   * @throws {TypeError} for arguments that cannot be used.
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

  /**
   * Lets nothing start until {@link resume}. What runs goes on, and who comes waits.
   */
  pause(): void {
    if (!(this instanceof Limiter)) throw detached('pause');
    this.#paused = true;
    this.#judge();
    this.#serve();
  }

  /**
   * Lets things start again.
   */
  resume(): void {
    if (!(this instanceof Limiter)) throw detached('resume');
    this.#paused = false;
    this.#judge();
    this.#serve();
  }

  /**
   * Lets nothing start, or nothing of this key, before so many milliseconds from now: what a server asks for with
   * `Retry-After`. Of several penalties the one that ends last counts.
   *
   * @throws {RangeError | TypeError} unless it is a finite number of milliseconds from 0 on.
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
    this.#checkKey(key);
    this._time.matters = true;
    this.#judge();
    const rules = key === undefined ? this.#shared : this.#laneOf(key);
    const now = this._time.read();
    rules.until = Math.max(rules.until, now + ms);
    if (rules instanceof Lane) this.#lanes.place(rules);
    this.#serve();
  }

  /**
   * Changes limits at once; those that are not given stay as they are. It revokes nothing: what runs goes on.
   *
   * No window ever exceeds the new limit, also with what started before. A rate goes on from what it knows if there was
   * one of the same name and kind: where a longer `per` reaches further back than that, it takes the worst for granted.
   * A bucket goes on with what is missing from it. A rate that is new begins as if it were used up, if anything has started
   * yet. Keys that have been forgotten begin anew.
   *
   * Whoever waits for more than a new limit is rejected with a `RangeError` when it comes to the front.
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
    this.#change(limits);
    this.#serve();
  }

  /**
   * Resolves when the queue has space for a request, in FIFO order; at once if the limiter has no `maxWaiting`. With a
   * `maxWaiting` of 0, resolves when a request without options would start at once.
   *
   * The space is reserved until the `await` of the caller has continued: no other caller of `waitForSpace` gets it, but
   * a request that is made without `waitForSpace` may take it. Make the request right away.
   *
   * Rejects with the signal's reason, with a `TimeoutError` after `timeout` milliseconds, or with the reason of
   * {@link close}. A `timeout` of 0 rejects unless there is space now.
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
    const request = readRequest(options);
    this._refuse();
    if (this.#hasSpace && this.#spaces.length === 0) {
      this.#reservations.add();
    } else {
      const space = this.#spaces.insert(request);
      this.#judge();
      // Where none may wait, only time may bring space.
      this.#serve();
      await space;
    }
  }

  /**
   * Calls the listener at each such event, and answers with a function that stops that. What it throws is reported as
   * uncaught. Nothing is spent on events that nobody listens to.
   *
   * @throws {TypeError} for an event that there is not.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 1 });
   * let failures = 0;
   * const off = limiter.on('failed', () => failures++);
   * await limiter.run(() => { throw new Error('no'); }).catch(() => {});
   * console.log(failures); // 1
   * off();
   * ```
   */
  on<Event extends keyof LimiterEvents>(
    event: Event,
    listener: (detail: LimiterEvents[Event]) => void,
  ): () => void {
    if (!(this instanceof Limiter)) throw detached('on');
    const stop = this.#listeners.add(event, listener);
    this.#judge();
    return () => {
      stop();
      this.#judge();
    };
  }

  /** @internal */
  override _end(ending: Ending): void {
    super._end(ending);
    this.#spaces.rejectAll(ending.reason);
    this.#judge();
  }

  /** @internal */
  override _dismiss(reason: unknown): void {
    for (const { queue } of [...this.#lanes.byKey.values(), this.#unkeyed]) {
      while (queue.length > 0) {
        this.#stats.cancelled++;
        this.#dismiss(queue.front as StartRequest, reason);
      }
    }
    this.#serve();
  }

  /** @internal Takes back what a permit stands for. */
  _giveBack(lane: Lane, permits: number): void {
    this.#stats.finished++;
    const shared = this.#shared;
    const isAlone = lane === this.#unkeyed && !this.#watched && this.#lanes.byKey.size === 0;
    if (isAlone && this.#plain && this.#waiting > 0 && permits === 1) {
      const { queue } = lane;
      const front = lane.front as StartRequest;
      const isAlike = queue.plain || (front.weight === 1 && front.signal === undefined);
      if (isAlike && shared.out === shared.concurrency) {
        // The permit changes hands without becoming free in between.
        this.#stats.started++;
        this.#leave(front);
        if (this.#waiting === 0) this.#lanes.place(lane);
        settle(front, new HandedPermit(lane, 1));
        return;
      }
    }
    shared.out -= permits;
    lane.out -= permits;
    if (isAlone && this.#waiting === 0) {
      if (this.idle) this._idled();
      return;
    }
    this.#back = true;
    this.#lanes.place(lane);
    this.#tell('finished', lane.key);
    this.#serve();
  }

  /** Lets one in that has no options, if nothing holds it back. */
  #enterPlain(): boolean {
    const { concurrency, out } = this.#shared;
    if (this.#waiting > 0 || out >= concurrency) return false;
    this.#shared.out++;
    this.#unkeyed.out++;
    this.#stats.started++;
    return true;
  }

  /** Puts one in line that has no options. */
  #append(): Promise<Permit> {
    const { queue } = this.#unkeyed;
    this.#waiting++;
    if (queue.length === 0) this.#lanes.turn(this.#unkeyed);
    const promise = queue.append();
    // Behind others who are alike, nothing has changed for anybody.
    if (queue.length === 1 || !queue.plain || this._time.isLost) {
      this.#lanes.place(this.#unkeyed);
      this.#serve();
    }
    return promise;
  }

  /** @internal */
  _read(options: RunOptions | undefined, names = runNames): StartRequest {
    const { priority, signal, timeout } = readRequest(options, names);
    const { key, weight = 1, runTimeout } = options ?? {};
    checkTimeout(runTimeout, 'runTimeout');
    this._refuse();
    if (weight !== 1) {
      if (typeof weight === 'object') {
        const meters = [...this.#shared.meters, ...this.#each.meters];
        checkOptions(
          weight,
          new Set(['concurrency', ...meters.map(({ rate }) => rate.name)]),
          'weight',
        );
      }
      this.#check(weight);
    }
    this.#checkKey(key);
    return {
      key,
      weight: typeof weight === 'object' ? ({ __proto__: null, ...weight } as never) : weight,
      priority,
      signal,
      timeout,
      runTimeout,
      runs: false,
      lane: undefined,
      queue: undefined,
      age: undefined,
      resolve: undefined,
      stop: undefined,
      chunk: undefined,
      index: 0,
      order: 0,
      permits: 1,
      owner: undefined,
    };
  }

  /** Throws unless something of this weight may ever start. */
  #check(weight: Weight | undefined): void {
    this.#shared.check(weight, this._label);
    this.#each.check(weight, this._label);
  }

  #laneOf(key: unknown): Lane {
    return key === undefined ? this.#unkeyed : this.#lanes.of(key, this.#perKey);
  }

  /**
   * Returns a permit for a request without options if it can start at once, otherwise the promise of one. Such a request
   * is stored only as a place in the queue.
   */
  #ask(runs = false): Permit | Promise<Permit> {
    if (!this.closed) {
      if (this.#plain && this.#enterPlain()) return new Permit(this.#unkeyed, 1);
      const permit = this.#plain ? undefined : this.#enter(nothing);
      if (permit !== undefined) return permit;
      if (!this.#dropsOldest && this.#waiting < this.#most) return this.#append();
    }
    const request = this._read(undefined);
    request.runs = runs;
    return this._request(request);
  }

  /** @internal The same for a request that can leave the queue, change its priority, or be dropped. */
  _request(request: StartRequest): Permit | Promise<Permit> {
    return this.#enter(request) ?? new Promise((resolve) => this.#wait(request, resolve));
  }

  /** Throws for a new key if there are `maxKeys` already. */
  #checkKey(key: unknown): void {
    const { byKey } = this.#lanes;
    if (byKey.size >= this.#maxKeys) this.#lanes.ripen();
    if (key === undefined || byKey.size < this.#maxKeys || byKey.has(key)) return;
    throw this.#drop(
      key,
      new QueueFullError(`${this._label}more keys than maxKeys: ${this.#maxKeys}`),
    );
  }

  /** Counts a request that is refused or rejected because the queue or the number of keys is at its bound. */
  #drop(key: unknown, error: Error): Error {
    this.#stats.dropped++;
    this.#tell('dropped', key);
    return error;
  }

  /** Enqueues a request. Throws if the queue has no space for it. */
  #wait(request: StartRequest, resolve: (permit: Permit) => void): void {
    if (request.timeout === 0) throw timedOut(0, this._label);
    const dropped = this.#waiting < this.#most ? undefined : this.#makeRoom(request);
    begin(request, resolve, this._label, (reason) => this._giveUp(request, reason));
    this.#waiting++;
    this.#join(request);
    // After the new request is in the queue: a listener may make a request, close or cancel.
    if (dropped !== undefined) this.#tell('dropped', dropped.key);
    this.#serve();
  }

  /** Lets a newcomer in, if it is its turn and there is room. */
  #enter(
    request: Pick<StartRequest, 'key' | 'priority' | 'weight' | 'signal'>,
  ): Permit | undefined {
    this.#lanes.ripen();
    const { key, priority, weight } = request;
    const lane = key === undefined ? this.#unkeyed : this.#lanes.byKey.get(key);
    const first = this.#lanes.ready[0];
    const front = lane?.front;
    if (
      this.#paused ||
      (front !== undefined && (front.priority ?? 0) >= priority) ||
      (first !== undefined &&
        first.priority >= priority &&
        // A key that waits with lower priorities has had its turn set already.
        (front === undefined ||
          first.priority > priority ||
          (lane as Lane).order >= first.order)) ||
      this._time.isAhead(Math.max(this.#shared.at(weight), lane?.at(weight) ?? this._time.now))
    ) {
      return undefined;
    }
    const permit = this.#start(this.#laneOf(key), weight, Permit);
    this.#tell('started', key);
    winContest(request.signal);
    // Its key has lost the turn that others of it had. Whoever has it now goes on after this one.
    if (this.#lanes.ready[0] !== first) nextMicrotask.then(() => this.#serve());
    return permit;
  }

  /** Takes what a start needs, and makes its permit. */
  #start(lane: Lane, weight: Weight | undefined, Form: typeof Permit): Starting {
    const shared = this.#shared;
    shared.take(weight);
    lane.take(weight);
    this.#stats.started++;
    this.#lanes.turn(lane);
    this.#lanes.place(lane);
    if (this._time.matters) return new StartPermit(lane, weight, shared.meters);
    return new Form(lane, weighs(weight, 'concurrency'));
  }

  /** @internal */
  _logged(lane: Lane): void {
    // Without keys, a timer that is set is for a moment that no log makes earlier.
    if (this.#perKey === undefined && this.keyCount === 0 && this.#spaces.length === 0) {
      if (this.#waiting === 0) return;
      if (this._time.armed) {
        this.#lanes.place(lane);
        return;
      }
    }
    this.#lanes.place(lane);
    this.#serve();
  }

  /** Rejects the oldest request of the lowest priority. Throws if that is the new request. */
  #makeRoom({ key, priority }: StartRequest): StartRequest {
    const full = fullError(this._label, this.#most);
    const oldest = this.#ages[0]?.request;
    if (oldest === undefined || oldest.priority > priority) throw this.#drop(key, full);
    this.#stats.dropped++;
    this.#dismiss(oldest, full);
    return oldest;
  }

  /** Puts somebody in line for its key. */
  #join(request: StartRequest): void {
    const lane = this.#laneOf(request.key);
    request.lane = lane;
    if (lane.front === undefined) this.#lanes.turn(lane);
    request.queue = lane.queue;
    request.queue.put(request);
    if (this.#dropsOldest) {
      request.age = { priority: -request.priority, order: this.#arrivals++, index: 0, request };
      insert(this.#ages, request.age);
    }
    this.#lanes.place(lane);
  }

  /** Takes somebody out of wherever it waits; its promise stays pending. Whoever does must `place` its lane. */
  #leave(waiter: StartRequest): void {
    const { queue = this.#unkeyed.queue, age } = waiter;
    queue.take(waiter);
    this.#waiting--;
    this.#left = true;
    if (typeof waiter === 'object') waiter.queue = waiter.age = undefined;
    if (age !== undefined) remove(this.#ages, age);
  }

  /** Sends somebody away. */
  #dismiss(waiter: StartRequest, reason: unknown): void {
    this.#leave(waiter);
    this.#lanes.place(waiter.lane ?? this.#unkeyed);
    settle(waiter, rejection(reason));
  }

  /** @internal Sends somebody away who gives up, which may let others in. */
  _giveUp(waiter: StartRequest, reason: unknown): void {
    this.#stats.cancelled++;
    this.#dismiss(waiter, reason);
    this.#serve();
  }

  /** @internal Sends somebody away who still waits. Whether it did. */
  _cancel(
    request: StartRequest | undefined,
    reason: unknown = cancelledError(this._label),
  ): boolean {
    if (request?.queue === undefined) return false;
    this._giveUp(request, reason);
    return true;
  }

  /** @internal Gives another priority to somebody who waits. */
  _move(request: StartRequest | undefined, priority: number): void {
    readRequest({ priority }, startNames);
    if (request?.queue === undefined) return;
    const { queue, age } = request;
    const lane = request.lane as Lane;
    queue.take(request);
    request.priority = priority;
    queue.put(request);
    if (age !== undefined) {
      remove(this.#ages, age);
      age.priority = -priority;
      insert(this.#ages, age);
    }
    this.#lanes.place(lane);
    this.#serve();
  }

  /**
   * Lets in whoever's turn it is for as long as the rules allow, and arms the timer for what time will change. Whatever
   * is found to be ahead has been compared with the clock, and not with an old time: its timer counts from now.
   */
  #serve(): void {
    const { ready } = this.#lanes;
    let at = Infinity;
    for (;;) {
      this.#lanes.ripen();
      const lane = ready[0];
      if (lane === undefined || this.#paused) break;
      const front = lane.front as StartRequest;
      if (isOver(front.signal)) {
        // Its listener has not run yet; it must not be let in by one that has.
        this.#stats.cancelled++;
        this.#dismiss(front, front.signal?.reason);
        continue;
      }
      const { weight, signal } = front;
      at = Math.max(this.#shared.at(weight), lane.at(weight));
      if (this._time.isAhead(at)) break;
      if (at <= this._time.now) {
        this.#leave(front);
        const permit = this.#start(lane, weight, HandedPermit);
        settle(front, permit);
        if (!front.runs) logSoon(permit);
        this.#tell('started', lane.key);
        winContest(signal);
      } else {
        try {
          this.#check(weight);
        } catch (error) {
          this.#stats.cancelled++;
          this.#dismiss(front, error);
        }
      }
      at = Infinity;
    }
    const isAsked = this.#most === 0 && this.#spaces.length > 0;
    // Otherwise it is told below, or when the caller that was told before has made its request.
    if (isAsked && this._time.isAhead(this.#nextAt)) at = this.#nextAt;
    this._time.arm(Math.min(at, this.#lanes.next), (isAsked || this.#waiting > 0) && !this.#paused);
    this.#report();
  }

  /** Tells those who want to know how many are left. */
  #report(): void {
    if (this.idle) this._idled();
    const left = this.#left;
    const isNews = left || this.#back;
    this.#left = this.#back = false;
    if (!this.#watched) return;
    const spaces = this.#spaces;
    if (spaces.length > 0) {
      while (spaces.next && this.#hasSpace) {
        this.#reservations.add();
        spaces.grant();
      }
      this.#judge();
    }
    if (left && this.#waiting === 0) this.#tell('empty');
    // A listener may have come in meanwhile.
    if (isNews && this.idle) this.#tell('idle');
  }

  /** When a request without options may start. */
  get #nextAt(): number {
    return Math.max(this.#shared.at(1), this.#unkeyed.at(1));
  }

  get #hasSpace(): boolean {
    const reserved = this.#reservations.count;
    if (this.#most > 0) return this.#waiting + reserved < this.#most;
    return !(reserved > 0 || this.#paused || this._time.isAhead(this.#nextAt));
  }

  #tell(event: keyof LimiterEvents, key?: unknown, error?: unknown): void {
    if (this.#watched) this.#listeners.tell(event, key, error);
  }

  /** Finds out whether only the concurrency of all together matters: then nothing else is looked at. */
  #judge(): void {
    this.#watched = this.#spaces.length + this.#listeners.size > 0;
    this.#plain = !(
      this.#watched ||
      this._time.matters ||
      this.#paused ||
      this.closed ||
      this.#each.concurrency < Infinity ||
      this.#dropsOldest
    );
  }

  #change(limits: LimiterLimits): void {
    const { perKey } = limits;
    const shared = readLimits(limits);
    const each = readPerKey(perKey);
    this._time.matters ||= (shared.rates ?? each.rates) !== undefined;
    const started = this.#stats.started > 0;
    // Before the first start no time has to be compared.
    const now = started ? this._time.read() : this._time.now;
    this.#shared.change(shared, now, started);
    if (perKey !== undefined) {
      this.#each.change(each, now, false);
      const { concurrency, rates } = this.#each;
      this.#perKey = { concurrency, rates };
      for (const lane of [...this.#lanes.byKey.values(), this.#unkeyed]) {
        lane.change(each, now, started);
        this.#lanes.place(lane);
      }
    }
    this.#judge();
  }

  /** @internal Not an async function, as in `Semaphore.run`. */
  _call<T>(fn: Work<T>, permit: Starting, request: StartRequest | undefined): Promise<T> {
    const lane = permit._issuer as Lane;
    const fail = (error: unknown): never => {
      this.#stats.failed++;
      this.#tell('failed', lane.key, error);
      permit._giveBack();
      throw error;
    };
    let result: T | PromiseLike<T>;
    try {
      result =
        request === undefined
          ? fn(permit, unbounded)
          : callWithin(fn, permit, request, this._label);
    } catch (error) {
      result = Promise.reject(error);
    }
    permit._started?.();
    return Promise.resolve(result).then((value) => {
      permit._giveBack();
      return value;
    }, fail);
  }
}

/** Logs a start in the next microtask, unless it is logged by then. */
function logSoon(permit: Starting): void {
  if (permit._started !== undefined) nextMicrotask.then(() => permit._started?.());
}
