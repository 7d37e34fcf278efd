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

import { asyncDispose } from '../dispose.js';
import {
  cancelledError,
  checkCount,
  checkInteger,
  closedError,
  detached,
  invalid,
  QueueFullError,
  timedOut,
} from '../errors.js';
import { claim, giveUpOn, isOver } from '../give-up.js';
import { insert, remove } from '../heap.js';
import { checkOptions, type WaitOptions } from '../options.js';
import { HandedPermit, Permit } from '../permit.js';
import { readQueueOptions, readRequest, rejection, settle, WaitQueue } from '../queue.js';
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

/** As many milliseconds as a timer can take. */
const LONGEST_TIMER = 2 ** 31 - 1;

type Starting = Permit & {
  /** Logs the start. Undefined once it is logged, and where no rate wants to know. */
  _log?: (() => void) | undefined;
};
type Tell = (detail: never) => void;

const soon = Promise.resolve();

export class Limiter {
  readonly #label: string;
  readonly #most: number;
  readonly #whenFull: string;
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
  #started = 0;
  #finished = 0;
  #failed = 0;
  #dropped = 0;
  #cancelled = 0;
  #paused = false;
  #closed: { readonly reason: unknown } | undefined;
  /** Whether nothing matters but the concurrency of all together. */
  #plain = true;
  /** Whether time matters, or ever has. */
  #timed = false;
  #now = Number.NEGATIVE_INFINITY;
  #timer: unknown;
  #timerAt = 0;
  /** Whether the timer keeps the process alive. */
  #holding = false;
  /** Who waits until nothing runs, or until fewer wait: their priority is how many. */
  readonly #drains: WaitQueue<void>;
  readonly #sizes: WaitQueue<void>;
  readonly #listeners = new Map<string, Set<Tell>>();
  /** Whether somebody has left the queue, or something has come back, and nobody was told. */
  #left = false;
  #back = false;

  constructor(options: LimiterOptions) {
    checkOptions(options, optionNames);
    const { whenFull = 'reject', clock = systemClock, concurrency, rate, perKey } = options;
    const { name, maxWaiting } = options;
    const { label, maxWaiting: most } = readQueueOptions({ name, maxWaiting });
    if (concurrency === undefined && rate === undefined && perKey === undefined) {
      throw new TypeError('options must have at least one of concurrency, rate and perKey');
    }
    if (!policies.includes(whenFull)) throw invalid('whenFull', whenFull, policies.join(' or '));
    if (whenFull === 'wait') checkCount('maxWaiting', most, 1);
    for (const method of ['now', 'setTimeout', 'clearTimeout'] as const) {
      if (typeof clock?.[method] !== 'function') {
        throw invalid(`clock.${method}`, clock?.[method], 'a function');
      }
    }
    this.#label = label;
    this.#most = most;
    this.#whenFull = whenFull;
    this.#clock = clock;
    this.#drains = new WaitQueue(label);
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

  /** Whether {@link close} has been called. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Whether nothing runs and nobody waits. */
  get idle(): boolean {
    return this.#started === this.#finished && this.#waiting === 0;
  }

  /** How many of what there were since it was made. */
  get stats(): LimiterStats {
    return {
      started: this.#started,
      finished: this.#finished,
      failed: this.#failed,
      dropped: this.#dropped,
      cancelled: this.#cancelled,
    };
  }

  acquire(options?: StartOptions): Promise<Permit> {
    try {
      if (options === undefined && this.#plain) {
        if (this.#enterPlain()) return new Permit(this.#unkeyed, 1, true) as never;
        if (this.#waiting < this.#most) return this.#append();
      }
      const granted = this.#request(this.#read(options));
      // The caller goes on in the next microtask but one at the latest.
      if (granted instanceof Permit) soon.then(() => logSoon(granted));
      return Promise.resolve(granted);
    } catch (error) {
      return Promise.reject(this instanceof Limiter ? error : detached('acquire'));
    }
  }

  tryAcquire(options?: TryStartOptions): Permit | undefined {
    if (options === undefined && this.#plain) {
      return this.#enterPlain() ? new Permit(this.#unkeyed, 1) : undefined;
    }
    const permit = this.#enter(this.#read(options, tryNames));
    if (permit !== undefined) logSoon(permit);
    return permit;
  }

  run<T>(fn: (permit: Permit) => T | PromiseLike<T>, options?: StartOptions): Promise<T> {
    try {
      checkFunction('fn', fn);
      if (options === undefined && this.#plain) {
        if (this.#enterPlain()) return this.#call(fn, new Permit(this.#unkeyed, 1));
        if (this.#waiting < this.#most) {
          return this.#append().then((permit) => this.#call(fn, permit));
        }
      }
      return this.#run(fn, this.#read(options));
    } catch (error) {
      return Promise.reject(this instanceof Limiter ? error : detached('run'));
    }
  }

  schedule<T>(fn: (permit: Permit) => T | PromiseLike<T>, options?: StartOptions): Scheduled<T> {
    let state: Scheduled<T>['state'] = 'waiting';
    let request: StartRequest | undefined;
    const start = async () => {
      try {
        checkFunction('fn', fn);
        request = this.#read(options);
        return await this.#run((permit) => {
          state = 'running';
          return fn(permit);
        }, request);
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
      cancel(reason = cancelledError(limiter.#label)) {
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

  pause(): void {
    this.#paused = true;
    this.#judge();
    this.#serve();
  }

  resume(): void {
    this.#paused = false;
    this.#judge();
    this.#serve();
  }

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

  setLimits(limits: LimiterLimits): void {
    checkOptions(limits, limitNames, 'limits');
    this.#change(limits);
    this.#serve();
  }

  async drain(options?: WaitOptions): Promise<void> {
    if (!(this instanceof Limiter)) throw detached('drain');
    const request = readRequest(options);
    if (this.idle) return;
    const drained = this.#drains.insert(request);
    this.#judge();
    await drained;
  }

  /** The same as {@link drain}, by the name that users of p-queue know. */
  onIdle(options?: WaitOptions): Promise<void> {
    return this.drain(options);
  }

  async onSizeLessThan(size: number, options?: WaitOptions): Promise<void> {
    if (!(this instanceof Limiter)) throw detached('onSizeLessThan');
    checkInteger('size', size, 1, Number.MAX_SAFE_INTEGER);
    const request = readRequest(options);
    if (this.#waiting < size) return;
    const room = this.#sizes.insert({ ...request, priority: size });
    this.#judge();
    await room;
  }

  on<Event extends keyof LimiterEvents>(
    event: Event,
    listener: (detail: LimiterEvents[Event]) => void,
  ): () => void {
    if (!events.includes(event)) throw invalid('event', event, events.join(' or '));
    checkFunction('listener', listener);
    const told = this.#listeners.get(event) ?? new Set();
    // A function of its own, so that who listens twice can stop twice.
    const tell = (detail: never) => listener(detail);
    this.#listeners.set(event, told.add(tell));
    this.#judge();
    return () => {
      if (told.delete(tell) && told.size === 0) this.#listeners.delete(event);
      this.#judge();
    };
  }

  close(reason: unknown = closedError(this.#label)): void {
    if (this.#closed !== undefined) return;
    this.#closed = { reason };
    this.#judge();
    this.cancel(reason);
  }

  cancel(reason: unknown = cancelledError(this.#label)): void {
    for (const { queue } of [
      { queue: this.#outside },
      ...this.#lanes.byKey.values(),
      this.#unkeyed,
    ]) {
      while (queue.length > 0) {
        this.#cancelled++;
        this.#dismiss(queue.front as StartRequest, reason);
      }
    }
    this.#serve();
  }

  /** Closes it and waits until all that runs has come back: what `await using` calls. */
  [asyncDispose](): Promise<void> {
    this.close();
    return this.drain();
  }

  /** @internal Takes back what a permit stands for. */
  _giveBack(lane: Lane, permits: number): void {
    this.#finished++;
    const shared = this.#shared;
    if (this.#plain && this.#lanes.byKey.size === 0) {
      if (this.#waiting === 0) {
        shared.out -= permits;
        lane.out -= permits;
        return;
      }
      const { queue } = lane;
      if (permits === 1 && queue.plain && shared.out === shared.concurrency) {
        // The permit changes hands without becoming free in between.
        this.#started++;
        this.#waiting--;
        queue.grant(new HandedPermit(lane, 1));
        if (this.#waiting === 0) this.#lanes.place(lane, 0);
        return;
      }
    }
    shared.out -= permits;
    lane.out -= permits;
    this.#back = true;
    this.#lanes.place(lane, this.#time());
    this.#tell('finished', lane.key);
    this.#serve();
  }

  /** Lets one in that has no options, if nothing holds it back. */
  #enterPlain(): boolean {
    const { concurrency, out } = this.#shared;
    if (this.#waiting > 0 || out >= concurrency) return false;
    this.#shared.out++;
    this.#unkeyed.out++;
    this.#started++;
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
      this.#lanes.place(this.#unkeyed, 0);
      this.#serve();
    }
    return promise;
  }

  #read(options: StartOptions | undefined, names = startNames): StartRequest {
    const request = readRequest(options, names) as StartRequest;
    const { key, weight = 1 } = options ?? {};
    if (this.#closed !== undefined) throw this.#closed.reason;
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
    this.#shared.check(weight, this.#label);
    this.#each.check(weight, this.#label);
  }

  #laneOf(key: unknown): Lane {
    return key === undefined ? this.#unkeyed : this.#lanes.of(key, this.#perKey);
  }

  /** A permit if one can be had at once, otherwise the promise of one. */
  #request(request: StartRequest): Permit | Promise<Permit> {
    return (
      this.#enter(request) ??
      new Promise((resolve) => {
        if (request.timeout === 0) throw timedOut(0, this.#label);
        request.resolve = resolve as never;
        const isFull = this.#makeRoom(request);
        if (request.signal !== undefined || request.timeout !== undefined) {
          request.stop = giveUpOn(
            request,
            (reason) => this.#giveUp(request, reason),
            (timeout) => timedOut(timeout, this.#label),
          );
        }
        this.#waiting++;
        if (isFull) this.#put(request, this.#outside, 0);
        else this.#join(request);
        this.#serve();
      })
    );
  }

  /** Lets a newcomer in, if it is its turn and there is room. */
  #enter(request: StartRequest): Permit | undefined {
    const now = this.#time();
    this.#lanes.ripen(now);
    const { key, rank, weight } = request;
    const lane = key === undefined ? this.#unkeyed : this.#lanes.byKey.get(key);
    const first = this.#lanes.ready[0];
    const front = lane?.front;
    if (
      this.#paused ||
      this.#outside.length > 0 ||
      (first !== undefined && first.priority >= rank) ||
      (front !== undefined && (front.priority ?? 0) >= rank) ||
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
    this.#started++;
    this.#lanes.turn(lane);
    this.#lanes.place(lane, this.#now);
    const permit: Starting = new Form(lane, weighs(weight, 'concurrency'));
    if (this.#timed) {
      const [all, own] = [shared.meters, lane.meters];
      permit._log = () => {
        permit._log = undefined;
        const now = this.#time();
        log(all, weight, now);
        log(own, weight, now);
        this.#lanes.place(lane, now);
        this.#serve();
      };
    }
    return permit;
  }

  /** Whether a newcomer has to stand outside. Throws if there is no room for it. */
  #makeRoom(request: StartRequest): boolean {
    const isFull = this.#waiting - this.#outside.length >= this.#most || this.#outside.length > 0;
    if (!isFull || this.#whenFull === 'wait') return isFull;
    const full = new QueueFullError(`${this.#label}the queue is full: ${this.#most} may wait`);
    const oldest = this.#ages[0]?.request;
    const dropped = oldest === undefined || oldest.rank > request.rank ? request : oldest;
    this.#dropped++;
    if (dropped === oldest) this.#dismiss(oldest, full);
    this.#tell('dropped', dropped.key);
    if (dropped === request) throw full;
    return false;
  }

  /** Puts somebody in line for its key. */
  #join(request: StartRequest): void {
    const lane = this.#laneOf(request.key);
    request.lane = lane;
    if (lane.front === undefined) this.#lanes.turn(lane);
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
    if (age !== undefined) remove(this.#ages, age);
  }

  /** Sends somebody away. */
  #dismiss(waiter: StartRequest, reason: unknown): void {
    this.#leave(waiter);
    this.#lanes.place(waiter.lane ?? this.#unkeyed, this.#now);
    settle(waiter, rejection(reason));
  }

  /** Sends somebody away who gives up, which may let others in. */
  #giveUp(waiter: StartRequest, reason: unknown): void {
    this.#cancelled++;
    this.#dismiss(waiter, reason);
    this.#serve();
  }

  /** Gives another priority to somebody who waits. */
  #move(request: StartRequest | undefined, priority: number): void {
    if (!Number.isFinite(priority)) {
      throw invalid('priority', priority, 'a finite number', 'number');
    }
    if (request?.queue === undefined) return;
    request.rank = priority;
    const { queue, lane, age } = request;
    if (lane === undefined) return;
    queue.take(request);
    this.#put(request, queue, priority);
    if (age !== undefined) {
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
  #serve(): void {
    const { ready } = this.#lanes;
    const outside = this.#outside;
    const now = this.#time();
    let at = Number.POSITIVE_INFINITY;
    for (;;) {
      while (outside.length > 0 && this.#waiting - outside.length < this.#most) {
        const next = outside.front as StartRequest;
        outside.take(next);
        this.#join(next);
      }
      this.#lanes.ripen(now);
      const lane = ready[0];
      if (lane === undefined || this.#paused) break;
      const front = lane.front as StartRequest;
      if (isOver(front.signal)) {
        // Its listener has not run yet; it must not be let in by one that has.
        this.#cancelled++;
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
        logSoon(permit);
        this.#tell('started', lane.key);
        claim(signal);
      } else {
        try {
          this.#check(weight);
        } catch (error) {
          this.#cancelled++;
          this.#dismiss(front, error);
        }
      }
      at = Number.POSITIVE_INFINITY;
    }
    this.#arm(Math.min(at, this.#lanes.next), now);
    this.#report();
  }

  /** Sees to it that the timer fires at this moment, or a little earlier. */
  #arm(at: number, now: number): void {
    const holding = this.#waiting > 0 && !this.#paused;
    if (this.#timer !== undefined) {
      if (this.#timerAt <= at && at < Number.POSITIVE_INFINITY && this.#holding === holding) return;
      this.#clock.clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (at === Number.POSITIVE_INFINITY) return;
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
    const isWatched = this.#drains.length + sizes.length > 0;
    while (this.#waiting < sizes.priority) {
      const { signal } = sizes.front ?? {};
      if (isOver(signal)) sizes.reject(signal?.reason);
      else sizes.grant();
    }
    const { idle } = this;
    if (idle) this.#drains.resolveAll();
    if (isWatched) this.#judge();
    const [left, back] = [this.#left, this.#back];
    this.#left = this.#back = false;
    if (left && this.#waiting === 0) this.#tell('empty');
    if (idle && (left || back)) this.#tell('idle');
  }

  #tell(event: keyof LimiterEvents, key?: unknown, error?: unknown): void {
    for (const tell of this.#listeners.get(event) ?? []) {
      try {
        tell({ key, error } as never);
      } catch (thrown) {
        // Reported as the platform reports what a listener throws.
        queueMicrotask(() => {
          throw thrown;
        });
      }
    }
  }

  /** Finds out whether only the concurrency of all together matters: then nothing else is looked at. */
  #judge(): void {
    this.#plain = !(
      this.#timed ||
      this.#paused ||
      this.#closed !== undefined ||
      this.#each.concurrency < Number.POSITIVE_INFINITY ||
      (this.#whenFull !== 'reject' && this.#most < Number.POSITIVE_INFINITY) ||
      this.#drains.length + this.#sizes.length + this.#listeners.size > 0
    );
  }

  #change({ concurrency, rate, perKey }: LimiterLimits): void {
    const shared = readLimits({ concurrency, rate });
    const each = readPerKey(perKey);
    this.#timed ||= (shared.rates?.length || each.rates?.length || 0) > 0;
    const now = this.#time();
    const started = this.#started > 0;
    this.#shared.change(shared, now, started);
    if (perKey !== undefined) {
      this.#each.change(each, now, false);
      this.#perKey = this.#each;
      for (const lane of [...this.#lanes.byKey.values(), this.#unkeyed]) {
        lane.change(each, now, started);
        this.#lanes.place(lane, now);
      }
    }
    this.#judge();
  }

  #run<T>(fn: (permit: Permit) => T | PromiseLike<T>, request: StartRequest): Promise<T> {
    const granted = this.#request(request);
    if (granted instanceof Permit) return this.#call(fn, granted);
    return granted.then((permit) => this.#call(fn, permit));
  }

  // Not an async function, as in `Semaphore.run`.
  #call<T>(fn: (permit: Permit) => T | PromiseLike<T>, permit: Starting): Promise<T> {
    const { key } = permit._issuer as Lane;
    const fail = (error: unknown): never => {
      this.#failed++;
      this.#tell('failed', key, error);
      permit._giveBack();
      throw error;
    };
    let result: T | PromiseLike<T>;
    try {
      result = fn(permit);
    } catch (error) {
      result = Promise.reject(error);
    }
    permit._log?.();
    return Promise.resolve(result).then((value) => {
      permit._giveBack();
      return value;
    }, fail);
  }
}

/** Logs a start in the next microtask, unless it is logged by then. */
function logSoon(permit: Starting): void {
  if (permit._log !== undefined) soon.then(() => permit._log?.());
}

function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(name, value, 'a function');
}
