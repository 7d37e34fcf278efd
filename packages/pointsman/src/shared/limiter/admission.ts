/**
 * Admits the requests of one process: asks the store for each, in FIFO order of each key while the keys take turns, and
 * starts it at the moment that the store gives it.
 *
 * - A start costs one trip. A request that has to wait has its moment, and the time until then costs nothing.
 * - While the first request waits for long, those behind it stay here, so that another key can have its turn and a
 *   request that gives up delays no other.
 * - With a lease, requests of weight 1 start without a trip.
 */

import { QueueFullError, timedOut } from '../../sync/errors.js';
import type { Weight } from '../../sync/limiter/rules.js';
import type { WaitOptions } from '../../sync/options.js';
import { giveUpOn, nextMicrotask } from '../../sync/wait/give-up.js';
import type { StoreError } from '../errors.js';
import type { Activity } from '../metrics.js';
import { AHEAD, type StartGroup, type StartRequest, type StartResult } from '../protocol/starts.js';
import type { BaseStore } from '../store.js';
import { Decisions, type Question } from './decisions.js';
import { Fallback } from './fallback.js';
import { Gate, Lane } from './lanes.js';
import type { SharedRates } from './limits.js';
import type { WhenUnavailable } from './options.js';
import type { SharedPermit } from './permit.js';
import { Permits } from './permits.js';
import { Polls, type Verdict } from './polls.js';
import type { SharedRequest } from './request.js';

/** Milliseconds. */
const AHEAD_MS = AHEAD / 1000;
const LONGEST_TIMER = 2 ** 31 - 1;

interface Terms {
  readonly maxWaiting: number;
  readonly lease: number;
  readonly deadline: number;
  readonly whenUnavailable: WhenUnavailable;
}

export class SharedAdmission {
  readonly stats = {
    started: 0,
    finished: 0,
    failed: 0,
    dropped: 0,
    cancelled: 0,
    undecided: 0,
    batches: 0,
  };
  readonly #label: string;
  readonly #rates: SharedRates;
  readonly #terms: Terms;
  readonly #activity: Activity;
  readonly #decisions: Decisions;
  readonly #polls: Polls;
  readonly permits: Permits;
  readonly fallback: Fallback;
  readonly #lanes = new Map<string | undefined, Lane>();
  /** Lanes with waiting requests, in the order of their turns. */
  readonly #turns = new Set<Lane>();
  /** The requests about which the store is asked. */
  readonly #asked = new Set<SharedRequest>();
  /** The requests that the local limiter decides. */
  readonly #local = new Set<SharedRequest>();
  /** Of all requests, if they share rates. */
  readonly #gate = new Gate();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #orders = 0;
  #isScheduled = false;

  constructor(
    store: BaseStore,
    label: string,
    rates: SharedRates,
    terms: Terms,
    activity: Activity,
  ) {
    this.#label = label;
    this.#rates = rates;
    this.#terms = terms;
    this.#activity = activity;
    this.#decisions = new Decisions(store, label, terms.deadline, this.stats);
    this.#polls = new Polls(rates, this.#decisions, this.stats);
    this.permits = new Permits(rates, this.#decisions, activity, this.stats);
    this.fallback = new Fallback(rates);
  }

  // --- requests ---

  /** Returns a permit of weight 1 if a lease has one and no request waits for it. */
  startLeased(key: string | undefined): SharedPermit | undefined {
    const lane = this.#lanes.get(key);
    return lane?.lease !== undefined && lane.waiting === 0 ? this.#takeLeased(lane) : undefined;
  }

  /** Returns the promise of a permit. The weight has been checked. */
  acquire(key: string | undefined, weight: Weight, options: WaitOptions): Promise<SharedPermit> {
    return new Promise((resolve) => {
      const lane = this.#laneOf(key);
      if (this.#activity.waiting >= this.#terms.maxWaiting) {
        this.stats.dropped++;
        this.#tidy(lane);
        const max = this.#terms.maxWaiting;
        throw new QueueFullError(`${this.#label}the queue is full: ${max} waiting`);
      }
      const { timeout = Infinity } = options;
      const request: SharedRequest = {
        key,
        weight,
        expires: performance.now() + timeout,
        since: performance.now(),
        order: ++this.#orders,
        lane,
        resolve,
        state: 'queued',
        question: undefined,
        gate: undefined,
        groups: [],
        at: [],
        timer: undefined,
        withdraw: undefined,
        stop: undefined,
      };
      // With a timeout of 0 the store decides whether it starts at once.
      if (options.signal !== undefined || (timeout < Infinity && timeout > 0)) {
        request.stop = giveUpOn(
          options,
          (reason) => this.#cancel(request, reason),
          (ms) => timedOut(ms, this.#label),
        );
      }
      this.#activity.count(1, 0);
      lane.append(request);
      this.#serve(lane);
    });
  }

  /** Asks the store at once, past the requests that wait here, which have the store's next moments. */
  decide(key: string | undefined, weight: Weight, look: boolean): Promise<Verdict> {
    this.#attend();
    return this.#polls.ask(key, weight, look);
  }

  async penalize(ms: number, key: string | undefined): Promise<void> {
    const isWhole = key === undefined;
    const done = this.#decisions.penalize(this.#rates.nameOf(key, isWhole), Math.ceil(ms * 1000));
    // The store has given moments that may be too early now.
    if (isWhole) for (const lane of this.#lanes.values()) this.#askAgain(lane);
    else this.#askAgain(this.#laneOf(key));
    await done;
  }

  /** The limits have changed. */
  changed(): void {
    for (const lane of this.#lanes.values()) this.#askAgain(lane);
    this.fallback.changed();
  }

  rejectAll(reason: unknown): void {
    const inLanes = [...this.#lanes.values()].flatMap((lane) => [...lane.timed, ...lane]);
    for (const request of [...inLanes, ...this.#asked, ...this.#local]) {
      this.#cancel(request, reason);
    }
  }

  /** Gives back what is not used, and disconnects. */
  async close(reason: unknown): Promise<void> {
    clearTimeout(this.#timer);
    for (const lane of this.#lanes.values()) {
      clearTimeout(lane.timer);
      this.#endLease(lane);
    }
    this.fallback.close(reason);
    await this.#decisions.close();
  }

  /** Gives the moments of a lane back, and asks the store for others. */
  #askAgain(lane: Lane): void {
    this.#gateOf(lane).until = 0;
    lane.heldUntil = 0;
    for (const request of lane.timed) {
      this.#untime(request);
      request.state = 'queued';
      lane.return(request);
    }
    this.#serve(lane);
  }

  // --- the turns ---

  #laneOf(key: string | undefined): Lane {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Lane(key);
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  /** Forgets a lane without requests. */
  #tidy(lane: Lane): void {
    if (!lane.isIdle) return;
    clearTimeout(lane.timer);
    this.#turns.delete(lane);
    this.#lanes.delete(lane.key);
  }

  /** Gives a lane its turn soon. */
  #serve(lane: Lane): void {
    this.#turns.add(lane);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    nextMicrotask.then(() => {
      this.#isScheduled = false;
      this.#pump();
    });
  }

  /** Asks the store for as many requests as may be admitted, one of each lane in turn. */
  #pump(): void {
    const now = performance.now();
    for (const lane of this.#turns) {
      this.#serveLeased(lane);
      const gate = this.#gateOf(lane);
      const isShared = gate === this.#gate;
      if (isShared && lane.waiting > 0) {
        // A decision makes space.
        if (gate.isFull) return;
        if (gate.until > now) {
          this.#timer ??= setTimeout(
            () => {
              this.#timer = undefined;
              this.#pump();
            },
            this.#delayOf(gate.until - now),
          );
          return;
        }
      }
      this.#turns.delete(lane);
      const request = lane.front;
      if (request === undefined) {
        this.#tidy(lane);
        continue;
      }
      const opens = Math.max(isShared ? 0 : gate.until, lane.heldUntil);
      if (opens > now) {
        lane.timer ??= setTimeout(
          () => {
            lane.timer = undefined;
            this.#serve(lane);
          },
          this.#delayOf(opens - now),
        );
        continue;
      }
      // A decision about one of its requests gives it its turn again.
      if (gate.isFull || (lane.isLeasing && request.weight === 1)) continue;
      this.#ask(lane, this.#take(lane, gate.max - gate.undecided));
      if (lane.waiting > 0) this.#turns.add(lane);
    }
  }

  #gateOf(lane: Lane): Gate {
    return this.#rates.isShared ? this.#gate : lane.gate;
  }

  #delayOf(ms: number): number {
    return Math.min(Math.ceil(ms), LONGEST_TIMER);
  }

  /** Takes the next request of a lane, or equal ones that may all start now. */
  #take(lane: Lane, most: number): readonly SharedRequest[] {
    const taken: SharedRequest[] = [];
    const isSingle = performance.now() < lane.singleUntil || this.#leases(lane);
    for (const request of lane) {
      if (taken.length > 0 && (request.weight !== 1 || isSingle || taken.length >= most)) break;
      taken.push(request);
      if (request.weight !== 1) break;
    }
    for (const request of taken) lane.delete(request);
    return taken;
  }

  /** Whether a request of weight 1 is to be asked for with a lease. */
  #leases(lane: Lane): boolean {
    return (
      this.#terms.lease > 1 &&
      this.#rates.leaseTime > 1 &&
      lane.lease === undefined &&
      performance.now() >= lane.singleUntil
    );
  }

  #ask(lane: Lane, requests: readonly SharedRequest[]): void {
    const [{ weight, expires }] = requests as [SharedRequest];
    const { key } = lane;
    const { leaseTime } = this.#rates;
    const leases = weight === 1 && this.#leases(lane);
    const count = leases ? this.#terms.lease : requests.length;
    const gate = this.#gateOf(lane);
    gate.undecided += requests.length;
    lane.asked += requests.length;
    if (leases) lane.isLeasing = true;
    this.#attend();
    const make = (): StartRequest => {
      const left = expires - performance.now();
      const within = left === Infinity ? -1 : Math.max(0, Math.ceil(left * 1000));
      return {
        groups: this.#rates.groupsOf(key, weight),
        // Of several requests, those that have to wait are asked for one by one.
        within: requests.length > 1 ? 0 : within,
        count,
        time: leases ? leaseTime * 1000 : 0,
        look: false,
      };
    };
    const answered = (): readonly SharedRequest[] => {
      if (leases) lane.isLeasing = false;
      const alive = requests.filter(({ state }) => state === 'asked');
      for (const request of alive) this.#answered(request);
      return alive;
    };
    const question = this.#decisions.ask(make, {
      decided: (result, sentAt) => {
        const alive = answered();
        if (count > 1 && result.count < count) {
          lane.singleUntil = performance.now() + Math.max(AHEAD_MS, leases ? leaseTime : 0);
        }
        this.#decided(lane, alive, question, result, leases ? sentAt : undefined);
        this.#served(lane);
      },
      undecided: (error) => {
        for (const request of answered()) this.#undecided(request, error);
        this.#undecideOld(gate, error);
        this.#served(lane);
      },
    });
    question.askers = requests.length;
    for (const request of requests) {
      request.state = 'asked';
      request.gate = gate;
      request.question = question;
      this.#asked.add(request);
    }
  }

  #answered(request: SharedRequest): void {
    this.#asked.delete(request);
    (request.gate as Gate).undecided--;
    request.lane.asked--;
  }

  /** An answer has made space. */
  #served(lane: Lane): void {
    if (lane.waiting > 0) {
      this.#serve(lane);
      return;
    }
    this.#tidy(lane);
    const [next] = this.#turns;
    if (next !== undefined) this.#serve(next);
  }

  /** `leasedAt`: when the store was asked for a lease. */
  #decided(
    lane: Lane,
    requests: readonly SharedRequest[],
    { groups }: Question,
    result: StartResult,
    leasedAt: number | undefined,
  ): void {
    const gate = this.#gateOf(lane);
    const delay = result.delay / 1000;
    const now = performance.now();
    const started = requests.slice(0, result.count);
    if (result.granted) {
      if (delay > AHEAD_MS) gate.until = now + delay - AHEAD_MS;
      else gate.admitted();
      const left = result.count - started.length;
      if (left > 0 && leasedAt !== undefined)
        this.#beginLease(lane, groups, result, left, leasedAt);
      else if (left > 0) this.#decisions.giveBack(groups, result.at, left);
      for (const request of started) {
        request.groups = groups;
        request.at = result.at;
        if (delay === 0) this.#begin(request);
        else this.#time(request, now + delay);
      }
    }
    const isSingle = requests.length === 1;
    for (const request of requests.slice(result.count)) {
      if (isSingle && result.delay < 0) {
        this.#reject(request, new RangeError(`${this.#label}weight is above a limit`));
      } else if (isSingle && now + delay > request.expires) {
        const ms = Math.max(0, Math.round(request.expires - request.since));
        this.#reject(request, timedOut(ms, this.#label));
      } else {
        // Sent back: an earlier request waits, or its key has to wait although others do not.
        request.state = 'queued';
        lane.return(request);
        if (isSingle) {
          if (result.by > 0) lane.heldUntil = now + delay;
          else gate.until = Math.max(gate.until, now + Math.max(delay - AHEAD_MS, 1));
          gate.sentBack();
        }
      }
    }
  }

  /** Starts a request at a moment by `performance.now()`. */
  #time(request: SharedRequest, moment: number): void {
    const { lane } = request;
    request.state = 'timed';
    lane.timed.add(request);
    const wait = (): void => {
      const left = moment - performance.now();
      if (left > 0) {
        // Timers may fire early, and not after more than their maximum.
        request.timer = setTimeout(wait, this.#delayOf(left));
        return;
      }
      // The moments of earlier requests have come too, although their timers may fire later.
      for (const earlier of lane.timed) {
        clearTimeout(earlier.timer);
        lane.timed.delete(earlier);
        this.#begin(earlier);
        if (earlier === request) break;
      }
      this.#tidy(lane);
    };
    wait();
  }

  /** Takes the moment of a request away, and gives it back. */
  #untime(request: SharedRequest): void {
    clearTimeout(request.timer);
    request.lane.timed.delete(request);
    this.#decisions.giveBack(request.groups, request.at);
  }

  #begin(request: SharedRequest): void {
    request.state = 'over';
    request.stop?.();
    // Counts as active before it no longer counts as waiting, so that the limiter never appears idle.
    const permit = this.permits.make(request.groups, request.at, request.weight);
    this.#activity.count(-1, 0);
    request.resolve(permit);
  }

  #reject(request: SharedRequest, reason: unknown): void {
    request.state = 'over';
    request.stop?.();
    this.stats.cancelled++;
    this.#activity.count(-1, 0);
    request.resolve(Promise.reject(reason));
  }

  #cancel(request: SharedRequest, reason: unknown): void {
    const { lane, state } = request;
    if (state === 'over') return;
    if (state === 'queued') {
      lane.delete(request);
    } else if (state === 'asked') {
      this.#answered(request);
      request.state = 'over';
      const { question } = request;
      // The question is not sent if no request waits for the answer; what it has been granted is given back.
      if (question !== undefined && --question.askers === 0) {
        this.#decisions.drop(question);
        if (request.weight === 1) lane.isLeasing = false;
      }
    } else if (state === 'timed') {
      this.#untime(request);
      // The next request may have an earlier moment now.
      this.#gateOf(lane).until = 0;
    }
    if (this.#local.delete(request)) request.withdraw?.();
    this.#reject(request, reason);
    this.#served(lane);
  }

  // --- without the store ---

  /** The store has not decided: the request is refused, starts, or is decided here. */
  #undecided(request: SharedRequest, error: StoreError): void {
    this.stats.undecided++;
    const { whenUnavailable } = this.#terms;
    if (whenUnavailable === 'allow') {
      this.#begin(request);
    } else if (whenUnavailable === 'refuse') {
      this.#reject(request, error);
    } else {
      request.state = 'local';
      this.#local.add(request);
      void this.#decideHere(request);
    }
  }

  async #decideHere(request: SharedRequest): Promise<void> {
    const { key, weight, expires } = request;
    const controller = new AbortController();
    request.withdraw = () => controller.abort();
    // With a timeout of 0 nothing else ends the wait.
    const timeout = expires < Infinity ? Math.max(0, expires - performance.now()) : undefined;
    try {
      const release = await this.fallback.start(key, weight, {
        signal: controller.signal,
        timeout,
      });
      release();
      if (this.#local.delete(request)) this.#begin(request);
    } catch (error) {
      if (this.#local.delete(request)) this.#reject(request, error);
    }
  }

  /** Decides about the requests that have waited for as long as the store may take, because it is away. */
  #undecideOld(gate: Gate, error: StoreError): void {
    const now = performance.now();
    if (gate.until > now) return;
    for (const lane of this.#lanes.values()) {
      if (this.#gateOf(lane) !== gate || lane.heldUntil > now) continue;
      for (const request of [...lane]) {
        if (request.since + this.#terms.deadline > now) break;
        lane.delete(request);
        this.#undecided(request, error);
      }
    }
  }

  #attend(): void {
    if (this.#terms.whenUnavailable !== 'share') return;
    const start = this.fallback.attend();
    if (start === undefined) return;
    this.#decisions.ask(() => start, {
      decided: ({ remaining }) => this.fallback.counted(remaining[0] as number),
      undecided: () => this.fallback.missed(),
    });
  }

  // --- leases ---

  #beginLease(
    lane: Lane,
    groups: readonly StartGroup[],
    { at }: StartResult,
    left: number,
    sentAt: number,
  ): void {
    // By the store's clock it ends no earlier: the store counts from when it received the question.
    const until = sentAt + this.#rates.leaseTime * 0.99 - 1;
    const timer = setTimeout(() => this.#endLease(lane), Math.max(0, until - performance.now()));
    lane.lease = { left, until, groups, at, timer };
  }

  #takeLeased(lane: Lane): SharedPermit | undefined {
    const { lease } = lane;
    if (lease === undefined) return undefined;
    if (lease.left === 0 || performance.now() >= lease.until) {
      this.#endLease(lane);
      return undefined;
    }
    lease.left--;
    const permit = this.permits.make(lease.groups, lease.at, 1);
    if (lease.left === 0) this.#endLease(lane);
    return permit;
  }

  /** Starts the waiting requests for which the lease is enough. */
  #serveLeased(lane: Lane): void {
    while (lane.lease !== undefined) {
      const request = lane.front;
      if (request === undefined || request.weight !== 1) return;
      const permit = this.#takeLeased(lane);
      if (permit === undefined) return;
      lane.delete(request);
      request.state = 'over';
      request.stop?.();
      this.#activity.count(-1, 0);
      request.resolve(permit);
    }
  }

  #endLease(lane: Lane): void {
    const { lease } = lane;
    if (lease === undefined) return;
    lane.lease = undefined;
    clearTimeout(lease.timer);
    if (lease.left > 0) this.#decisions.giveBack(lease.groups, lease.at, lease.left);
    if (lane.waiting > 0) this.#serve(lane);
    else this.#tidy(lane);
  }
}
