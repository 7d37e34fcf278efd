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

import { Drainable } from '../closable.js';
import {
  cancelledError,
  checkCount,
  checkFunction,
  checkInteger,
  checkOneOf,
  fullError,
  invalid,
  timedOut,
} from '../errors.js';
import { claim, isOver, LONGEST_TIMER, tell } from '../give-up.js';
import { insert, remove } from '../heap.js';
import { checkOptions, type WaitOptions } from '../options.js';
import { HandedPermit, Permit } from '../permit.js';
import { begin, readQueueOptions, readRequest, rejection, settle, WaitQueue } from '../queue.js';
import { type Clock, systemClock } from './clock.js';
import { type Age, Lane, Lanes, type StartRequest } from './lanes.js';
import { type MapContext, type MapOptions, type Mapped, map } from './map.js';
import type {
  LimiterEvents,
  LimiterLimits,
  LimiterOptions,
  LimiterStats,
  Scheduled,
  StartOptions,
  TryStartOptions,
} from './options.js';
import type { Rate } from './rates.js';
import {
  log,
  type ReadLimits,
  Rules,
  readLimits,
  readPerKey,
  type Weight,
  weighs,
} from './rules.js';

const tryNames: ReadonlySet<string> = new Set(['key', 'weight', 'priority']);
const startNames: ReadonlySet<string> = new Set([...tryNames, 'signal', 'timeout']);
const limitNames: ReadonlySet<string> = new Set(['concurrency', 'rate', 'perKey']);
const optionNames: ReadonlySet<string> = new Set([
  ...limitNames,
  'name',
  'maxWaiting',
  'whenFull',
  'clock',
]);
const policies = ['reject', 'drop-oldest', 'wait'];
const events = ['started', 'finished', 'failed', 'dropped', 'empty', 'idle'];

type Starting = Permit & {
  /** Logs the start. Undefined once it is logged, and where no rate wants to know. */
  _log?: (() => void) | undefined;
};
type Listener = (detail: { readonly key: unknown; readonly error: unknown }) => void;

const nothing = { key: undefined, rank: 0, weight: 1, signal: undefined };
const soon = Promise.resolve();

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
  readonly #whenFull: string;
  /** Whether a full queue does more than to refuse. */
  readonly #reorders: boolean;
  readonly #clock: Clock;
  readonly #shared = new Rules();
  /** What the rules of a new key are made from; it never starts anything itself. */
  readonly #each = new Rules();
  #perKey: ReadLimits | undefined;
  readonly #lanes = new Lanes(this);
  /** The lane of those who have no key. It is always there, and not among the keys. */
  readonly #unkeyed = new Lane(this);
  /** Those who wait for room in the queue. */
  readonly #outside = new WaitQueue<Permit>('');
  /** All who wait, in the order in which they have to make room; nobody if nobody has to. */
  readonly #ages: Age[] = [];
  #arrivals = 0;
  /** How many wait, outside as well. */
  #waiting = 0;
  readonly #stats = { started: 0, finished: 0, failed: 0, dropped: 0, cancelled: 0 };
  #paused = false;
  /** Whether nothing matters but the concurrency of all together. */
  #plain = true;
  /** Whether time matters, or ever has. */
  #timed = false;
  #now = -Infinity;
  #timer: unknown;
  #timerAt = 0;
  /** Whether the timer keeps the process alive. */
  #holding = false;
  /** Who waits until fewer wait: their priority is how many. */
  readonly #sizes: WaitQueue<void>;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** Whether somebody has left the queue, or something has come back, and nobody was told. */
  #left = false;
  #back = false;

  /**
   * @throws {RangeError | TypeError} for options that cannot be used, and without any limit.
   */
  constructor(options: LimiterOptions) {
    checkOptions(options, optionNames);
    const { whenFull = 'reject', clock = systemClock, concurrency, rate, perKey } = options;
    const { name, maxWaiting } = options;
    const { label, maxWaiting: most } = readQueueOptions({ name, maxWaiting });
    if (concurrency === undefined && rate === undefined && perKey === undefined) {
      throw new TypeError('options must have at least one of concurrency, rate and perKey');
    }
    checkOneOf('whenFull', whenFull, policies);
    if (whenFull === 'wait') checkCount('maxWaiting', most, 1);
    for (const method of ['now', 'setTimeout', 'clearTimeout'] as const) {
      if (typeof clock?.[method] !== 'function') {
        throw invalid(`clock.${method}`, clock?.[method], 'a function');
      }
    }
    super(label);
    this.#most = most;
    this.#whenFull = whenFull;
    this.#reorders = whenFull !== 'reject' && most < Infinity;
    this.#clock = clock;
    this.#sizes = new WaitQueue(label);
    this.#change({ concurrency, rate, perKey });
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

  /** How many keys there are: those that something runs of or waits for, or whose rates have not forgotten it yet. */
  get keys(): number {
    return this.#lanes.byKey.size;
  }

  /** Whether {@link pause} has been called, and not {@link resume}. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Whether nothing runs and nobody waits. */
  get idle(): boolean {
    return this.#stats.started === this.#stats.finished && this.#waiting === 0;
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
      const granted = this.#ask(options);
      // The caller goes on in the next microtask but one at the latest.
      if (granted instanceof Permit) soon.then(() => logSoon(granted));
      return Promise.resolve(granted);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Starts something if that needs no waiting; otherwise it is `undefined` and nothing has changed. It never overtakes
   * whoever's turn it is.
   *
   * @throws The reason of {@link close}, if closed; a `RangeError` or `TypeError` for bad options.
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
    if (options === undefined && this.#plain) {
      return this.#enterPlain() ? new Permit(this.#unkeyed, 1) : undefined;
    }
    const permit = this.#enter(this.#read(options, tryNames));
    if (permit) logSoon(permit);
    return permit;
  }

  /**
   * Calls `fn` when its turn comes, and gives its concurrency back when the result of `fn` has settled, before whoever
   * awaits it goes on. The result, value or error, is that of `fn`. Nothing in the way, `fn` starts before `run` returns.
   * Options are those of {@link acquire}; once `fn` has started they have no effect.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 2, rate: { limit: 1_000, per: 1_000 } });
   * const squares = [1, 2, 3].map((n) => limiter.run(async () => n * n));
   * console.log(await Promise.all(squares)); // [ 1, 4, 9 ]
   * ```
   */
  run<T>(fn: (permit: Permit) => T | PromiseLike<T>, options?: StartOptions): Promise<T> {
    try {
      checkFunction('fn', fn);
      const granted = this.#ask(options, true);
      if (granted instanceof Permit) return this.#call(fn, granted);
      return granted.then((permit) => this.#call(fn, permit));
    } catch (error) {
      return Promise.reject(error);
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
  schedule<T>(fn: (permit: Permit) => T | PromiseLike<T>, options?: StartOptions): Scheduled<T> {
    let state: Scheduled<T>['state'] = 'waiting';
    let request: StartRequest | undefined;
    const start = async () => {
      try {
        checkFunction('fn', fn);
        request = this.#read(options);
        request.runs = true;
        const permit = this.#request(request);
        // Not awaited where that is not needed: nothing in the way, it starts at once.
        const granted = permit instanceof Permit ? permit : await permit;
        state = 'running';
        return await this.#call(fn, granted);
      } finally {
        state = 'done';
      }
    };
    const limiter = this;
    return {
      result: start(),
      get state() {
        return state;
      },
      get priority() {
        return request?.rank ?? 0;
      },
      set priority(priority) {
        limiter.#move(request, priority);
      },
      cancel(reason = cancelledError(limiter._label)) {
        const waits = request?.queue !== undefined;
        if (waits) limiter.#giveUp(request as StartRequest, reason);
        return waits;
      },
    };
  }

  /**
   * Runs `fn` for each input, and reads as the results. An input is pulled when it is its turn and no sooner, so that
   * concurrency and rates pull; results that nobody reads hold it back. An error, an abort or leaving the loop aborts
   * what runs by the `signal` that `fn` is given, and closes the source.
   *
   * With nothing of it under way one input is pulled ahead, to see whether there is any; and one with a `weight`, `key`
   * or `priority` that is a function of the input. While as many results are ready and unread as may run at once (16
   * where concurrency has no bound), nothing new starts. Each read is a run of its own.
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
    return map(this, inputs, fn, options);
  }

  /**
   * Lets nothing start until {@link resume}. What runs goes on, and who comes waits.
   */
  pause(): void {
    this.#paused = true;
    this.#judge();
    this.#serve();
  }

  /**
   * Lets things start again.
   */
  resume(): void {
    this.#paused = false;
    this.#judge();
    this.#serve();
  }

  /**
   * Lets nothing start, or nothing of this key, before so many milliseconds from now: what a server asks for with
   * `Retry-After`. Of several penalties the one that ends last counts.
   *
   * @throws {RangeError | TypeError} unless it is a finite number of milliseconds from 0 on.
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
    if (!(Number.isFinite(ms) && ms >= 0)) {
      throw invalid('ms', ms, 'a finite number of milliseconds from 0 on', 'number');
    }
    this.#timed = true;
    this.#judge();
    const rules = key === undefined ? this.#shared : this.#laneOf(key);
    const now = this.#time();
    rules.until = Math.max(rules.until, now + ms);
    if (rules instanceof Lane) this.#lanes.place(rules, now);
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
    checkOptions(limits, limitNames, 'limits');
    this.#change(limits);
    this.#serve();
  }

  /** The same as {@link drain}, by the name that users of p-queue know. */
  onIdle(options?: WaitOptions): Promise<void> {
    return this.drain(options);
  }

  /**
   * Waits until fewer than `size` wait: for whoever produces work faster than it may start.
   *
   * @example
   * ```ts
   * import { Limiter } from 'pointsman';
   *
   * const limiter = new Limiter({ concurrency: 2 });
   * for (let n = 0; n < 100; n++) {
   *   await limiter.onSizeLessThan(10);
   *   limiter.run(async () => n);
   * }
   * await limiter.drain();
   * console.log(limiter.stats.finished); // 100
   * ```
   */
  async onSizeLessThan(size: number, options?: WaitOptions): Promise<void> {
    checkInteger('size', size, 1);
    const request = readRequest(options);
    if (this.#waiting < size) return;
    const room = this.#sizes.insert({ ...request, priority: size });
    this.#judge();
    await room;
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
    checkOneOf('event', event, events);
    checkFunction('listener', listener);
    const listeners = this.#listeners.get(event) ?? new Set();
    // A function of its own, so that who listens twice can stop twice.
    const own: Listener = (detail) => listener(detail as never);
    this.#listeners.set(event, listeners.add(own));
    this.#judge();
    return () => {
      if (listeners.delete(own) && listeners.size === 0) this.#listeners.delete(event);
      this.#judge();
    };
  }

  /** @internal */
  _dismiss(reason: unknown): void {
    this.#judge();
    for (const { queue } of [
      { queue: this.#outside },
      ...this.#lanes.byKey.values(),
      this.#unkeyed,
    ]) {
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
    if (this.#plain && this.#lanes.byKey.size === 0) {
      if (this.#waiting === 0) {
        shared.out -= permits;
        lane.out -= permits;
        if (this._watched && this.idle) this._idled();
        return;
      }
      const { queue } = lane;
      if (permits === 1 && queue.plain && shared.out === shared.concurrency) {
        // The permit changes hands without becoming free in between.
        this.#stats.started++;
        this.#waiting--;
        queue.grant(new HandedPermit(lane, 1));
        if (this.#waiting === 0) this.#lanes.place(lane, 0);
        return;
      }
    }
    shared.out -= permits;
    lane.out -= permits;
    this.#back = true;
    const now = this.#time();
    this.#lanes.place(lane, now);
    this.#tell('finished', lane.key);
    this.#serve(now);
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
    if (queue.length === 1 || !queue.plain) {
      const now = this.#time();
      this.#lanes.place(this.#unkeyed, now);
      this.#serve(now);
    }
    return promise;
  }

  #read(options: StartOptions | undefined, names = startNames): StartRequest {
    const request = readRequest(options, names) as StartRequest;
    const { key, weight = 1 } = options ?? {};
    this._refuse();
    request.key = key;
    request.weight = weight;
    request.rank = request.priority;
    if (weight !== 1) {
      if (typeof weight === 'object') {
        const meters = [...this.#shared.meters, ...this.#each.meters];
        checkOptions(
          weight,
          new Set(['concurrency', ...meters.map(({ rate }) => rate.name)]),
          'weight',
        );
        request.weight = { __proto__: null, ...weight } as never;
      }
      this.#check(request.weight);
    }
    return request;
  }

  /** Throws unless something of this weight may ever start. */
  #check(weight: Weight | undefined): void {
    this.#shared.check(weight, this._label);
    this.#each.check(weight, this._label);
  }

  #laneOf(key: unknown): Lane {
    return key === undefined ? this.#unkeyed : this.#lanes.of(key, this.#perKey);
  }

  /** A permit if one can be had at once, otherwise the promise of one. Who has no options is only a place in a line. */
  #ask(options: StartOptions | undefined, runs = false): Permit | Promise<Permit> {
    if (options === undefined && !this._ending) {
      if (this.#plain && this.#enterPlain()) return new Permit(this.#unkeyed, 1);
      const permit = this.#plain ? undefined : this.#enter(nothing);
      if (permit) return permit;
      if (!this.#reorders && this.#waiting < this.#most) return this.#append();
    }
    const request = this.#read(options);
    request.runs = runs;
    return this.#request(request);
  }

  /** The same, for somebody who can leave, be moved, or make room. */
  #request(request: StartRequest): Permit | Promise<Permit> {
    return (
      this.#enter(request) ??
      new Promise((resolve) => {
        if (request.timeout === 0) throw timedOut(0, this._label);
        const isFull = this.#makeRoom(request);
        begin(request, resolve, this._label, (reason) => this.#giveUp(request, reason));
        this.#waiting++;
        if (isFull) this.#put(request, this.#outside, 0);
        else this.#join(request);
        this.#serve();
      })
    );
  }

  /** Lets a newcomer in, if it is its turn and there is room. */
  #enter(request: Pick<StartRequest, 'key' | 'rank' | 'weight' | 'signal'>): Permit | undefined {
    const now = this.#time();
    this.#lanes.ripen(now);
    const { key, rank, weight } = request;
    const lane = key === undefined ? this.#unkeyed : this.#lanes.byKey.get(key);
    const first = this.#lanes.ready[0];
    const front = lane?.front;
    // A key that waits with lower priorities has had its turn set already.
    const isEarlier = ({ priority, order }: Lane) =>
      front && priority === rank && (lane as Lane).order < order;
    if (
      this.#paused ||
      this.#outside.length > 0 ||
      (front && (front.priority ?? 0) >= rank) ||
      (first && first.priority >= rank && !isEarlier(first)) ||
      Math.max(this.#shared.at(weight), lane?.at(weight) ?? now) > now
    ) {
      return undefined;
    }
    const permit = this.#start(this.#laneOf(key), weight, Permit);
    this.#tell('started', key);
    claim(request.signal);
    return permit;
  }

  /** Takes what a start needs, and makes its permit. */
  #start(lane: Lane, weight: Weight | undefined, Form: typeof Permit): Starting {
    const shared = this.#shared;
    shared.take(weight);
    lane.take(weight);
    this.#stats.started++;
    this.#lanes.turn(lane);
    this.#lanes.place(lane, this.#now);
    const permit: Starting = new Form(lane, weighs(weight, 'concurrency'));
    if (this.#timed) {
      const all = shared.meters;
      const own = lane.meters;
      permit._log = () => {
        permit._log = undefined;
        const now = this.#time();
        log(all, weight, now);
        log(own, weight, now);
        this.#lanes.place(lane, now);
        // Without keys, a timer that is set is for a moment that no log makes earlier.
        const isSettled = this.#waiting === 0 || this.#timer !== undefined;
        if (!isSettled || this.#perKey !== undefined || this.keys > 0) this.#serve(now);
      };
    }
    return permit;
  }

  /** Whether a newcomer has to stand outside. Throws if there is no room for it. */
  #makeRoom(request: StartRequest): boolean {
    const isFull = this.#waiting - this.#outside.length >= this.#most || this.#outside.length > 0;
    if (!isFull || this.#whenFull === 'wait') return isFull;
    const full = fullError(this._label, this.#most);
    const oldest = this.#ages[0]?.request;
    const dropped = !oldest || oldest.rank > request.rank ? request : oldest;
    this.#stats.dropped++;
    if (dropped === oldest) this.#dismiss(oldest, full);
    this.#tell('dropped', dropped.key);
    if (dropped === request) throw full;
    // Asked again: whoever was told may have come in meanwhile.
    return this.#makeRoom(request);
  }

  /** Puts somebody in line for its key. */
  #join(request: StartRequest): void {
    const lane = this.#laneOf(request.key);
    request.lane = lane;
    if (!lane.front) this.#lanes.turn(lane);
    this.#put(request, lane.queue, request.rank);
    if (this.#whenFull === 'drop-oldest') {
      request.age = { priority: -request.rank, order: this.#arrivals++, index: 0, request };
      insert(this.#ages, request.age);
    }
    this.#lanes.place(lane, this.#time());
  }

  #put(request: StartRequest, queue: WaitQueue<Permit>, priority: number): void {
    request.queue = queue;
    request.priority = priority;
    queue.put(request);
  }

  /** Takes somebody out of wherever it waits; its promise stays pending. Whoever does must `place` its lane. */
  #leave(waiter: StartRequest): void {
    const { queue = this.#unkeyed.queue, age } = waiter;
    queue.take(waiter);
    this.#waiting--;
    this.#left = true;
    if (typeof waiter === 'object') waiter.queue = waiter.age = undefined;
    if (age) remove(this.#ages, age);
  }

  /** Sends somebody away. */
  #dismiss(waiter: StartRequest, reason: unknown): void {
    this.#leave(waiter);
    this.#lanes.place(waiter.lane ?? this.#unkeyed, this.#now);
    settle(waiter, rejection(reason));
  }

  /** Sends somebody away who gives up, which may let others in. */
  #giveUp(waiter: StartRequest, reason: unknown): void {
    this.#stats.cancelled++;
    this.#dismiss(waiter, reason);
    this.#serve();
  }

  /** Gives another priority to somebody who waits. */
  #move(request: StartRequest | undefined, priority: number): void {
    readRequest({ priority }, startNames);
    if (!request?.queue) return;
    request.rank = priority;
    const { queue, lane, age } = request;
    if (!lane) return;
    queue.take(request);
    this.#put(request, queue, priority);
    if (age) {
      remove(this.#ages, age);
      age.priority = -priority;
      insert(this.#ages, age);
    }
    this.#lanes.place(lane, this.#time());
    this.#serve();
  }

  /** The time, which never goes back; any while it does not matter. */
  #time(): number {
    if (this.#timed) this.#now = Math.max(this.#now, this.#clock.now());
    return this.#now;
  }

  /** Lets in whoever's turn it is for as long as the rules allow, and arms the timer for what time will change. */
  #serve(now = this.#time()): void {
    const { ready } = this.#lanes;
    const outside = this.#outside;
    let at = Infinity;
    for (;;) {
      while (outside.length > 0 && this.#waiting - outside.length < this.#most) {
        const next = outside.front as StartRequest;
        outside.take(next);
        this.#join(next);
      }
      this.#lanes.ripen(now);
      const lane = ready[0];
      if (!lane || this.#paused) break;
      const front = lane.front as StartRequest;
      if (isOver(front.signal)) {
        // Its listener has not run yet; it must not be let in by one that has.
        this.#stats.cancelled++;
        this.#dismiss(front, front.signal?.reason);
        continue;
      }
      const { weight, signal } = front;
      at = Math.max(this.#shared.at(weight), lane.at(weight));
      if (at > now) break;
      if (at <= now) {
        this.#leave(front);
        const permit = this.#start(lane, weight, HandedPermit);
        settle(front, permit);
        if (!front.runs) logSoon(permit);
        this.#tell('started', lane.key);
        claim(signal);
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
    this.#arm(Math.min(at, this.#lanes.next), now);
    this.#report();
  }

  /** Sees to it that the timer fires at this moment, or a little earlier. */
  #arm(at: number, now: number): void {
    const holding = this.#waiting > 0 && !this.#paused;
    if (this.#timer !== undefined) {
      if (this.#timerAt <= at && at < Infinity && this.#holding === holding) return;
      this.#clock.clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (at === Infinity) return;
    this.#timerAt = at;
    this.#holding = holding;
    this.#timer = this.#clock.setTimeout(
      () => {
        this.#timer = undefined;
        this.#serve();
      },
      Math.min(Math.ceil(at - now), LONGEST_TIMER),
    );
    // It need not keep a process alive only to forget a key.
    if (!holding) (this.#timer as { unref?(): void }).unref?.();
  }

  /** Tells those who want to know how many are left. */
  #report(): void {
    const sizes = this.#sizes;
    const isWatched = sizes.length > 0;
    while (this.#waiting < sizes.priority) {
      const { signal } = sizes.front ?? {};
      if (isOver(signal)) sizes.reject(signal?.reason);
      else sizes.grant();
    }
    const { idle } = this;
    if (idle && this._watched) this._idled();
    if (isWatched) this.#judge();
    const left = this.#left;
    const isNews = left || this.#back;
    this.#left = this.#back = false;
    if (left && this.#waiting === 0) this.#tell('empty');
    if (isNews && idle) this.#tell('idle');
  }

  #tell(event: keyof LimiterEvents, key?: unknown, error?: unknown): void {
    const listeners = this.#listeners.get(event);
    if (listeners) tell(listeners, { key, error });
  }

  /** Finds out whether only the concurrency of all together matters: then nothing else is looked at. */
  #judge(): void {
    this.#plain = !(
      this.#timed ||
      this.#paused ||
      this.closed ||
      this.#each.concurrency < Infinity ||
      this.#reorders ||
      this.#sizes.length + this.#listeners.size > 0
    );
  }

  #change(limits: LimiterLimits): void {
    const { perKey } = limits;
    const shared = readLimits(limits);
    const each = readPerKey(perKey);
    this.#timed ||= (shared.rates?.length || each.rates?.length || 0) > 0;
    const now = this.#time();
    const started = this.#stats.started > 0;
    this.#shared.change(shared, now, started);
    if (perKey !== undefined) {
      this.#each.change(each, now, false);
      const { concurrency, rates } = this.#each;
      this.#perKey = { concurrency, rates };
      for (const lane of [...this.#lanes.byKey.values(), this.#unkeyed]) {
        lane.change(each, now, started);
        this.#lanes.place(lane, now);
      }
    }
    this.#judge();
  }

  async #call<T>(fn: (permit: Permit) => T | PromiseLike<T>, permit: Starting): Promise<T> {
    const { key } = permit._issuer as Lane;
    try {
      let result: T | PromiseLike<T>;
      try {
        result = fn(permit);
      } finally {
        permit._log?.();
      }
      return await result;
    } catch (error) {
      this.#stats.failed++;
      this.#tell('failed', key, error);
      throw error;
    } finally {
      permit._giveBack();
    }
  }
}

/** Logs a start in the next microtask, unless it is logged by then. */
function logSoon(permit: Starting): void {
  if (permit._log) soon.then(() => permit._log?.());
}
