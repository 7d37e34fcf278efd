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
import { AHEAD, type StartRequest, type StartResult } from '../protocol/starts.js';
import type { BaseStore } from '../store.js';
import { Decisions, type Question } from './decisions.js';
import { Fallback } from './fallback.js';
import { Gate, Lane } from './lanes.js';
import { Leases } from './leases.js';
import type { SharedRates } from './limits.js';
import type { WhenUnavailable } from './options.js';
import type { SharedPermit } from './permit.js';
import { Permits } from './permits.js';
import { Polls, type Verdict } from './polls.js';
import type { SharedRequest } from './request.js';
import { Undecided } from './undecided.js';

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
  readonly #leases: Leases;
  readonly #undecided: Undecided;
  readonly #lanes = new Map<string | undefined, Lane>();
  /** Lanes with waiting requests, in the order of their turns. */
  readonly #turns = new Set<Lane>();
  /** The requests about which the store is asked. */
  readonly #asked = new Set<SharedRequest>();
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
    const { whenUnavailable } = terms;
    this.#undecided = new Undecided(
      whenUnavailable,
      this.fallback,
      this.#decisions,
      this.stats,
      this,
    );
    this.#leases = new Leases(terms.lease, rates, this.#decisions, this.permits, this);
  }

  // --- requests ---

  /** Returns a permit of weight 1 if a lease has one and no request waits for it. */
  startLeased(key: string | undefined): SharedPermit | undefined {
    const lane = this.#lanes.get(key);
    return lane?.lease !== undefined && lane.waiting === 0 ? this.#leases.take(lane) : undefined;
  }

  /** Throws if as many requests wait as may. */
  refuseIfFull(): void {
    const { maxWaiting } = this.#terms;
    if (this.#activity.waiting < maxWaiting) return;
    this.stats.dropped++;
    throw new QueueFullError(`${this.#label}the queue is full: ${maxWaiting} waiting`);
  }

  /** Returns the promise of a permit. The weight has been checked. */
  acquire(key: string | undefined, weight: Weight, options: WaitOptions): Promise<SharedPermit> {
    return new Promise((resolve) => {
      const lane = this.#laneOf(key);
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
    this.#undecided.attend();
    return this.#polls.ask(key, weight, look);
  }

  async penalize(ms: number, key: string | undefined): Promise<void> {
    const isWhole = key === undefined;
    const done = this.#decisions.penalize(this.#rates.nameOf(key, isWhole), Math.ceil(ms * 1000));
    // The store has given moments, and starts ahead, that may be too early now.
    if (isWhole) for (const lane of this.#lanes.values()) this.#startAgain(lane);
    else this.#startAgain(this.#laneOf(key));
    await done;
  }

  /** The limits have changed. */
  changed(): void {
    for (const lane of this.#lanes.values()) this.#startAgain(lane);
    this.fallback.changed();
  }

  rejectAll(reason: unknown): void {
    const inLanes = [...this.#lanes.values()].flatMap((lane) => [...lane.timed, ...lane]);
    for (const request of [...inLanes, ...this.#asked, ...this.#undecided.requests]) {
      this.#cancel(request, reason);
    }
  }

  /** Gives back what is not used, and disconnects. */
  async close(reason: unknown): Promise<void> {
    clearTimeout(this.#timer);
    for (const lane of this.#lanes.values()) {
      clearTimeout(lane.timer);
      this.#leases.endAll(lane);
    }
    this.fallback.close(reason);
    this.#polls.close(reason);
    await this.#decisions.close();
  }

  /** Gives the moments of a lane, and its leases, back, and asks the store for others. */
  #startAgain(lane: Lane): void {
    this.#leases.endAll(lane);
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
    const isSingle = performance.now() < lane.singleUntil || this.#leases.isWanted(lane);
    for (const request of lane) {
      if (taken.length > 0 && (request.weight !== 1 || isSingle || taken.length >= most)) break;
      taken.push(request);
      if (request.weight !== 1) break;
    }
    for (const request of taken) lane.delete(request);
    return taken;
  }

  /** Asks the store for requests; for none, only for a lease. */
  #ask(lane: Lane, requests: readonly SharedRequest[]): void {
    const { weight = 1, expires = 0 } = requests[0] ?? {};
    const { key } = lane;
    const { leaseTime } = this.#rates;
    const leases = weight === 1 && this.#leases.isWanted(lane);
    const count = leases ? this.#leases.size : requests.length;
    const gate = this.#gateOf(lane);
    gate.undecided += requests.length;
    lane.asked += requests.length;
    if (leases) lane.isLeasing = true;
    this.#undecided.attend();
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
        for (const request of answered()) this.#undecided.decide(request, error);
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
        this.#leases.begin(lane, groups, result.at, left, leasedAt);
      else if (left > 0) this.#decisions.giveBack(groups, result.at, left);
      for (const request of started) {
        request.groups = groups;
        request.at = result.at;
        if (delay === 0) this._begin(request);
        else this.#time(request, now + delay);
      }
    }
    const isSingle = requests.length === 1;
    for (const request of requests.slice(result.count)) {
      if (isSingle && result.delay < 0) {
        this._reject(request, new RangeError(`${this.#label}weight is above a limit`));
      } else if (isSingle && now + delay > request.expires) {
        const ms = Math.max(0, Math.round(request.expires - request.since));
        this._reject(request, timedOut(ms, this.#label));
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
        this._begin(earlier);
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

  _begin(request: SharedRequest): void {
    request.state = 'over';
    request.stop?.();
    // Counts as active before it no longer counts as waiting, so that the limiter never appears idle.
    const permit = this.permits.make(request.groups, request.at, request.weight);
    this.#activity.count(-1, 0);
    request.resolve(permit);
  }

  _reject(request: SharedRequest, reason: unknown): void {
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
    this.#undecided.withdraw(request);
    this._reject(request, reason);
    this.#served(lane);
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
        this.#undecided.decide(request, error);
      }
    }
  }

  // --- leases ---

  /** Starts the waiting requests for which the lease is enough. */
  #serveLeased(lane: Lane): void {
    while (lane.lease !== undefined) {
      const request = lane.front;
      if (request === undefined || request.weight !== 1) return;
      const permit = this.#leases.take(lane);
      if (permit === undefined) return;
      lane.delete(request);
      request.state = 'over';
      request.stop?.();
      this.#activity.count(-1, 0);
      request.resolve(permit);
    }
  }

  _askAhead(lane: Lane): void {
    this.#ask(lane, []);
  }

  _ended(lane: Lane): void {
    if (lane.waiting > 0) this.#serve(lane);
    else this.#tidy(lane);
  }
}
