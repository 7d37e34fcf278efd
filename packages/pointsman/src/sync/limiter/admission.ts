/**
 * Admits requests: decides which of them start, and when.
 *
 * Of the keys whose own rules let their first request start, the one with the highest priority has the turn; equals take
 * turns. Within a key: highest priority first, then FIFO. The request whose turn it is waits for the shared rules and is
 * not overtaken, so light requests never starve a heavy one.
 *
 * Invariant: no request waits that may start. Each change of the state ends in `serve`, which starts requests for as
 * long as the rules allow and then sets one timer for the earliest moment at which time alone lets another one start.
 */

import { fullError, QueueFullError, timedOut } from '../errors.js';
import { checkOptions, checkTimeout } from '../options.js';
import { HandedPermit, Permit } from '../semaphore/permit.js';
import { contestOf, isOver, nextMicrotask, winContest } from '../wait/give-up.js';
import { insert, remove } from '../wait/heap.js';
import { readRequest } from '../wait/priority-queue.js';
import { begin, rejection, settle, type WaitRequest } from '../wait/queue.js';
import { QueueSpace } from '../wait/queue-space.js';
import { type DropRank, Lane, type LaneOwner, Lanes, type StartRequest } from './lanes.js';
import {
  type LimiterLimits,
  type ReadLimiterOptions,
  type RunOptions,
  runNames,
  startNames,
} from './options.js';
import { Rules, readLimits, readPerKey, type Weight, weighs } from './rules.js';
import { logSoon, type Starting, StartPermit } from './start.js';
import { Time } from './time.js';

interface Owner {
  readonly _label: string;
  readonly closed: boolean;
  /** Throws if the limiter is closed. */
  _refuse(): void;
  /** Called when no request runs or waits. */
  _idled(): void;
}

const noOptions = { key: undefined, priority: 0, weight: 1, signal: undefined };

export class Admission implements LaneOwner {
  readonly shared = new Rules();
  readonly lanes: Lanes;
  readonly unkeyed: Lane;
  readonly time: Time;
  readonly stats = { started: 0, finished: 0, failed: 0, dropped: 0, cancelled: 0 };
  waiting = 0;
  paused = false;
  /** Whether only the shared rules can keep a request without options from starting. */
  #isSimple = true;
  readonly #owner: Owner;
  readonly #max: number;
  /** With `drop-oldest`, all waiting requests, in the order in which they are dropped. */
  readonly #dropOrder: DropRank[] | undefined;
  #arrivals = 0;
  readonly #space: QueueSpace;
  /** Whether callers wait for space, as of the last change. */
  #hasCallers = false;

  constructor(owner: Owner, { max, maxKeys, whenFull, clock, limits }: ReadLimiterOptions) {
    this.#owner = owner;
    this.#max = max;
    this.lanes = new Lanes(this, maxKeys);
    this.unkeyed = this.lanes.unkeyed;
    if (whenFull === 'drop-oldest' && max < Infinity) this.#dropOrder = [];
    const time = new Time(clock, () => this.serve());
    this.time = time;
    const left = () =>
      max > 0 ? max - this.waiting : +!(this.paused || time.isAhead(this.#nextAt));
    const requests = () => {
      const { started, cancelled, dropped } = this.stats;
      return started + cancelled + dropped + this.waiting;
    };
    this.#space = new QueueSpace(owner._label, left, requests);
    this.change(limits);
  }

  /** Whether only the shared concurrency can keep a request without options from starting. */
  get isFast(): boolean {
    return this.#isSimple && !this.time.usesTime;
  }

  get active(): number {
    return this.stats.started - this.stats.finished;
  }

  // --- requests ---

  /** Reads the options of a request, and throws if they cannot be used or the limiter refuses the request. */
  read(options: RunOptions | undefined, names: readonly string[]): StartRequest {
    const { priority, signal, timeout } = readRequest(options, names);
    const { key, weight = 1, runTimeout } = options ?? {};
    checkTimeout(runTimeout, 'runTimeout');
    this.#owner._refuse();
    if (typeof weight === 'object') {
      const meters = [...this.shared.meters, ...this.lanes.template.meters];
      const rates = meters.map(({ rate }) => rate.name);
      checkOptions(weight, ['concurrency', ...rates], 'weight');
    }
    if (weight !== 1) this.#check(weight);
    this.#checkKey(key);
    return {
      key,
      weight: typeof weight === 'object' ? ({ __proto__: null, ...weight } as never) : weight,
      priority,
      signal,
      timeout,
      runTimeout,
      runs: names === runNames,
      lane: undefined,
      dropRank: undefined,
      resolve: undefined,
      stop: undefined,
      chunk: undefined,
      index: 0,
      order: 0,
    } as Partial<StartRequest> as StartRequest;
  }

  /** Starts a request without options if only the shared rules apply and admit it. The caller makes the permit. */
  startFast(): boolean {
    const { shared, time } = this;
    if (!this.#isSimple || this.waiting > 0 || time.isAhead(shared.availableAt(1))) return false;
    shared.take(1);
    this.unkeyed.out++;
    this.stats.started++;
    return true;
  }

  /** Returns a permit if the request can start at once, otherwise the promise of one. */
  admit(request: StartRequest | undefined): Permit | Promise<Permit> {
    const { key, weight, signal } = request ?? noOptions;
    if (key === undefined && weight === 1 && this.startFast()) {
      winContest(signal);
      return this.#permit(this.unkeyed, 1, Permit);
    }
    if (request === undefined) {
      this.#owner._refuse();
      const permit = this.isFast ? undefined : this.start();
      if (permit !== undefined) return permit;
      if (this.#dropOrder === undefined && this.waiting < this.#max) return this.#append();
    }
    const asked = request ?? this.read(undefined, startNames);
    return this.start(asked) ?? new Promise((resolve) => this.#wait(asked, resolve));
  }

  /** Starts a new request if it has the turn and all rules admit it. */
  start(request: Pick<StartRequest, keyof typeof noOptions> = noOptions): Starting | undefined {
    const { lanes, time } = this;
    lanes.promoteDue();
    const { key, priority, weight } = request;
    const lane = lanes.find(key);
    const first = lanes.ready[0];
    const front = lane?.front;
    if (
      this.paused ||
      (front !== undefined && (front.priority ?? 0) >= priority) ||
      (first !== undefined &&
        first.priority >= priority &&
        // A key with waiting requests of lower priorities has its place in the round already.
        (front === undefined ||
          first.priority > priority ||
          (lane as Lane).order >= first.order)) ||
      time.isAhead(this.#availableAt(weight, lane))
    ) {
      return undefined;
    }
    const permit = this.#take(this.lanes.of(key), weight, Permit);
    winContest(request.signal);
    // The waiting requests of its key have lost their turn to another key.
    if (lanes.ready[0] !== first) nextMicrotask.then(() => this.serve());
    return permit;
  }

  waitForSpace(request: WaitRequest): Promise<void> | undefined {
    const space = this.#space.wait(request);
    if (space) {
      this.#hasCallers = true;
      // If no request may wait, time alone can bring space.
      if (this.#max === 0) this.serve();
    }
    return space;
  }

  // --- changes ---

  rejectAll(reason: unknown): void {
    for (const { queue } of this.lanes.all) {
      while (queue.length > 0) this.#cancel(queue.front as StartRequest, reason);
    }
    this.serve();
  }

  close(reason: unknown): void {
    this.#space.close(reason);
    this.#updateIsSimple();
  }

  pause(paused: boolean): void {
    this.paused = paused;
    this.#updateIsSimple();
    this.serve();
  }

  penalize(ms: number, key: unknown): void {
    this.#checkKey(key);
    this.time.usesTime = true;
    const rules = key === undefined ? this.shared : this.lanes.of(key);
    rules.until = Math.max(rules.until, this.time.read() + ms);
    if (rules instanceof Lane) this.lanes.place(rules);
    this.serve();
  }

  /** Throws before any effect if the limits cannot be used. */
  change(limits: LimiterLimits): void {
    const shared = readLimits(limits);
    const perKey = readPerKey(limits.perKey);
    const { time } = this;
    time.usesTime ||= (shared.rates ?? perKey.rates) !== undefined;
    const hasStarted = this.stats.started > 0;
    // Before the first start no time has to be compared.
    const now = hasStarted ? time.read() : time.now;
    this.shared.change(shared, now, hasStarted);
    this.lanes.template.change(perKey, now, false);
    for (const lane of this.lanes.all) {
      lane.change(perKey, now, hasStarted);
      this.lanes.place(lane);
    }
    this.#updateIsSimple();
  }

  // --- what starts and finishes ---

  /**
   * Starts waiting requests for as long as the rules allow, and sets the timer. The timer's moment has just been compared
   * with the clock, as `Time.arm` requires.
   */
  serve(): void {
    const { lanes, time } = this;
    let at = Infinity;
    for (;;) {
      lanes.promoteDue();
      const lane = lanes.ready[0];
      if (lane === undefined || this.paused) break;
      const front = lane.front as StartRequest;
      const { weight, signal } = front;
      if (isOver(signal)) {
        // The listener that rejects it has not run yet; a listener that ran before must not let it start.
        this.#cancel(front, signal?.reason);
        continue;
      }
      at = this.#availableAt(weight, lane);
      if (time.isAhead(at)) break;
      if (at <= time.now) {
        this.#leave(front);
        const permit = this.#take(lane, weight, HandedPermit);
        settle(front, permit);
        if (!front.runs) logSoon(permit);
        winContest(signal);
      } else {
        try {
          this.#check(weight);
        } catch (error) {
          this.#cancel(front, error);
        }
      }
      at = Infinity;
    }
    const hasCallers = this.#max === 0 && this.#space.length > 0;
    // If that moment is not ahead, a caller is resolved below, or the space is reserved for the caller resolved last.
    if (hasCallers && time.isAhead(this.#nextAt)) at = this.#nextAt;
    time.arm(Math.min(at, lanes.next), (hasCallers || this.waiting > 0) && !this.paused);
    this.#changed();
  }

  /** @internal Releases the permits of a request that has finished. */
  _giveBack(lane: Lane, permits: number): void {
    const { shared, stats } = this;
    stats.finished++;
    const isAlone = lane === this.unkeyed && !this.#hasCallers && this.lanes.byKey.size === 0;
    if (isAlone && this.isFast && this.waiting > 0 && permits === 1) {
      const front = lane.front as StartRequest;
      const { weight = 1, signal } = front;
      const isAlike = weight === 1 && !(signal && (signal.aborted || contestOf(signal)));
      if (isAlike && shared.out === shared.concurrency) {
        // The permit changes hands without becoming free in between.
        stats.started++;
        this.#leave(front);
        if (this.waiting === 0) this.lanes.place(lane);
        settle(front, new HandedPermit(lane, 1));
        // The next one may be heavier than limits that were changed allow.
        if ((lane.front?.weight ?? 1) !== 1) this.serve();
        return;
      }
    }
    shared.out -= permits;
    lane.out -= permits;
    if (isAlone && this.waiting === 0) {
      if (this.active === 0) this.#owner._idled();
      return;
    }
    this.lanes.place(lane);
    this.serve();
  }

  /** @internal A start of this lane has been logged. */
  _logged(lane: Lane): void {
    const isShared = this.lanes.byKey.size === 0 && this.lanes.template.meters.length === 0;
    // With shared meters only, a log does not change the moment for which the timer was set.
    if (isShared && !this.#hasCallers && (this.waiting === 0 || this.time.armed)) return;
    this._changed(lane);
  }

  /** @internal */
  _changed(lane: Lane): void {
    this.lanes.place(lane);
    this.serve();
  }

  #take(lane: Lane, weight: Weight | undefined, Form: typeof Permit): Starting {
    const { lanes } = this;
    this.shared.take(weight);
    lane.take(weight);
    this.stats.started++;
    lanes.endTurn(lane);
    lanes.place(lane);
    return this.#permit(lane, weight, Form);
  }

  #permit(lane: Lane, weight: Weight | undefined, Form: typeof Permit): Starting {
    if (this.time.usesTime) return new StartPermit(lane, weight, this.shared.meters);
    return new Form(lane, weighs(weight, 'concurrency'));
  }

  /** Called when requests have left the queue or have finished. */
  #changed(): void {
    const owner = this.#owner;
    if (this.active === 0 && this.waiting === 0) owner._idled();
    if (this.#hasCallers) {
      this.#space.changed();
      this.#hasCallers = this.#space.length > 0;
    }
  }

  /** When a request of this weight may start. A lane that does not exist yet holds nothing back. */
  #availableAt(weight: Weight | undefined, lane: Lane | undefined): number {
    const at = this.shared.availableAt(weight);
    return lane === undefined ? at : Math.max(at, lane.availableAt(weight));
  }

  get #nextAt(): number {
    return this.#availableAt(1, this.unkeyed);
  }

  // --- the queue ---

  /** Enqueues a request without options, which is stored only as its resolve function. */
  #append(): Promise<Permit> {
    const { lanes, unkeyed } = this;
    const { queue } = unkeyed;
    this.waiting++;
    if (queue.length === 0) lanes.endTurn(unkeyed);
    const promise = queue.append();
    // Behind other requests without options it changes neither the first request nor the timer.
    if (queue.length === 1 || !queue.plain || this.time.isLost) {
      lanes.place(unkeyed);
      this.serve();
    }
    return promise;
  }

  /** Enqueues a request. Throws if the queue has no space for it. */
  #wait(request: StartRequest, resolve: (permit: Permit) => void): void {
    const label = this.#owner._label;
    if (request.timeout === 0) throw timedOut(0, label);
    if (this.waiting >= this.#max) this.#makeSpace(request);
    const giveUp = (reason: unknown): void => {
      this.#cancel(request, reason);
      this.serve();
    };
    begin(request, resolve, giveUp, (timeout) => timedOut(timeout, label));
    this.waiting++;
    const lane = this.lanes.of(request.key);
    request.lane = lane;
    if (lane.front === undefined) this.lanes.endTurn(lane);
    lane.queue.put(request);
    if (this.#dropOrder !== undefined) {
      request.dropRank = {
        priority: -request.priority,
        order: this.#arrivals++,
        index: 0,
        request,
      };
      insert(this.#dropOrder, request.dropRank);
    }
    this.lanes.place(lane);
    this.serve();
  }

  /** With `drop-oldest`, rejects the oldest request of the lowest priority. Throws if that is the new request. */
  #makeSpace({ priority }: StartRequest): void {
    this.stats.dropped++;
    const full = fullError(this.#owner._label, this.#max);
    const oldest = this.#dropOrder?.[0]?.request;
    if (oldest === undefined || oldest.priority > priority) throw full;
    this.#reject(oldest, full);
  }

  /** Rejects a waiting request. The caller must call `serve`. */
  #cancel(waiter: StartRequest, reason: unknown): void {
    this.stats.cancelled++;
    this.#reject(waiter, reason);
  }

  #reject(waiter: StartRequest, reason: unknown): void {
    this.#leave(waiter);
    this.lanes.place(waiter.lane ?? this.unkeyed);
    settle(waiter, rejection(reason));
  }

  /** Takes a request out of the queue; its promise stays pending. The caller must `place` its lane. */
  #leave(waiter: StartRequest): void {
    const { lane = this.unkeyed, dropRank } = waiter;
    lane.queue.take(waiter);
    this.waiting--;
    if (dropRank !== undefined) remove(this.#dropOrder as DropRank[], dropRank);
  }

  // --- checks ---

  /** Throws for a new key if there are `maxKeys` already. */
  #checkKey(key: unknown): void {
    if (this.lanes.admits(key)) return;
    this.stats.dropped++;
    throw new QueueFullError(`${this.#owner._label}more keys than maxKeys: ${this.lanes.max}`);
  }

  /** Throws unless a request of this weight can ever start. */
  #check(weight: Weight | undefined): void {
    this.shared.check(weight, this.#owner._label);
    this.lanes.template.check(weight, this.#owner._label);
  }

  #updateIsSimple(): void {
    const { concurrency, meters } = this.lanes.template;
    this.#isSimple = !(
      this.paused ||
      this.#owner.closed ||
      concurrency < Infinity ||
      meters.length > 0 ||
      this.#dropOrder
    );
  }
}
