/**
 * Admits the requests of one process: asks the store for each when it is its turn, and starts it at the moment that the
 * store gives it.
 *
 * - A start costs one trip. A request that has to wait has its moment, and the time until then costs nothing.
 * - While the first request waits for long, those behind it stay here, so that another key can have its turn and a
 *   request that gives up delays no other.
 * - With a lease, requests of weight 1 start without a trip.
 * - With a concurrency, the claim and the start travel together. A request that waits for concurrency asks for its start
 *   again when it holds its slots; one that the rates hold back for long keeps none.
 */

import { QueueFullError, timedOut } from '../../sync/errors.js';
import type { Weight } from '../../sync/limiter/rules.js';
import type { WaitOptions } from '../../sync/options.js';
import { giveUpOn } from '../../sync/wait/give-up.js';
import { StoreError } from '../errors.js';
import type { Activity } from '../metrics.js';
import { AHEAD, type StartResult } from '../protocol/starts.js';
import type { BaseStore } from '../store.js';
import { Decisions, type Question, type StartTerms } from './decisions.js';
import { Fallback } from './fallback.js';
import type { Gate, Lane } from './lanes.js';
import { Leases } from './leases.js';
import type { SharedRates } from './limits.js';
import type { WhenUnavailable } from './options.js';
import { Outcomes } from './outcomes.js';
import type { SharedPermit } from './permit.js';
import { Permits } from './permits.js';
import { Polls, type Verdict } from './polls.js';
import type { SharedRequest } from './request.js';
import { type Slot, Slots } from './slots.js';
import { Turns } from './turns.js';
import { Undecided } from './undecided.js';

/** Milliseconds. */
const AHEAD_MS = AHEAD / 1000;

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
  readonly slots: Slots;
  readonly #undecided: Undecided;
  readonly #leases: Leases;
  readonly #turns: Turns;
  readonly #outcomes: Outcomes;
  /** The requests about which the store is asked. */
  readonly #asked = new Set<SharedRequest>();
  #orders = 0;

  constructor(
    store: BaseStore,
    label: string,
    rates: SharedRates,
    terms: Terms,
    activity: Activity,
  ) {
    const { stats } = this;
    this.#label = label;
    this.#rates = rates;
    this.#terms = terms;
    this.#activity = activity;
    const decisions = new Decisions(store, label, terms.deadline, stats);
    this.#decisions = decisions;
    this.slots = new Slots(store, label, rates);
    this.#polls = new Polls(rates, decisions, this.slots, stats);
    const permits = new Permits(rates, decisions, activity, stats);
    this.permits = permits;
    this.fallback = new Fallback(rates);
    this.#turns = new Turns(rates, this);
    const outcomes = new Outcomes(permits, decisions, activity, stats, this.#turns);
    this.#outcomes = outcomes;
    const { whenUnavailable, lease } = terms;
    this.#undecided = new Undecided(
      whenUnavailable,
      this.fallback,
      decisions,
      stats,
      outcomes,
      permits,
    );
    this.#leases = new Leases(lease, rates, decisions, permits, this);
  }

  // --- requests ---

  /** Returns a permit of weight 1 if a lease has one and no request waits for it. */
  startLeased(key: string | undefined): SharedPermit | undefined {
    const lane = this.#turns.find(key);
    return lane?.lease !== undefined && lane.waiting === 0 ? this.#leases.take(lane) : undefined;
  }

  /** Returns the promise of a permit. The weight has been checked. Throws if as many requests wait as may. */
  acquire(key: string | undefined, weight: Weight, options: WaitOptions): Promise<SharedPermit> {
    const { maxWaiting } = this.#terms;
    if (this.#activity.waiting >= maxWaiting) {
      this.stats.dropped++;
      throw new QueueFullError(`${this.#label}the queue is full: ${maxWaiting} waiting`);
    }
    return new Promise((resolve) => {
      const lane = this.#turns.laneOf(key);
      const { timeout = Infinity } = options;
      const since = performance.now();
      const request: SharedRequest = {
        key,
        weight,
        expires: since + timeout,
        since,
        order: ++this.#orders,
        lane,
        resolve,
        state: 'queued',
        question: undefined,
        gate: undefined,
        slot: undefined,
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
      this.#turns.serve(lane);
    });
  }

  /** Decides at once; with an error if the store does not. */
  async tryStart(
    key: string | undefined,
    weight: Weight,
  ): Promise<SharedPermit | StoreError | undefined> {
    this.#activity.count(1, 0);
    let settle!: () => void;
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const slot = this.slots.enter(key, weight, false, () => {
      if (slot?.isDecided) settle();
    });
    let permit: SharedPermit | undefined;
    try {
      const { decision, groups, index } = await this.ask(key, weight, false, slot);
      if (decision instanceof StoreError) return decision;
      if (!decision.granted || index >= decision.count) return undefined;
      const { at } = decision;
      if (slot !== undefined && !slot.isDecided) await settled;
      if (slot === undefined || slot.isHeld)
        permit = this.permits.make({ groups, at, weight, slot });
      else this.#decisions.giveBack(groups, at);
      return permit;
    } finally {
      if (permit === undefined) slot?.leave();
      this.#activity.count(-1, 0);
    }
  }

  /** Asks the store at once, past the requests that wait here, which have the store's next moments. */
  ask(key: string | undefined, weight: Weight, look: boolean, slot?: Slot): Promise<Verdict> {
    this.#undecided.attend();
    return this.#polls.ask(key, weight, look, slot);
  }

  async penalize(ms: number, key: string | undefined): Promise<void> {
    const isWhole = key === undefined;
    const done = this.#decisions.penalize(this.#rates.nameOf(key, isWhole), Math.ceil(ms * 1000));
    // The store has given moments, and starts ahead, that may be too early now.
    if (isWhole) for (const lane of this.#turns.lanes) this.#startAgain(lane);
    else this.#startAgain(this.#turns.laneOf(key));
    await done;
  }

  /** The limits have changed. */
  changed(): void {
    for (const lane of this.#turns.lanes) {
      // A claim in the queue has the limit of its request.
      for (const request of lane.slotted) this.#outcomes.sendBack(request);
      this.#startAgain(lane);
    }
    this.fallback.changed();
  }

  rejectAll(reason: unknown): void {
    const inLanes = [...this.#turns.lanes].flatMap((lane) => [
      ...lane.timed,
      ...lane.slotted,
      ...lane,
    ]);
    for (const request of [...inLanes, ...this.#asked, ...this.#undecided.requests]) {
      this.#cancel(request, reason);
    }
    this.#polls.close(reason);
    this.#decisions.dropAll();
  }

  /** Gives back what is not used, and disconnects. */
  async close(reason: unknown): Promise<void> {
    this.#turns.close();
    for (const lane of this.#turns.lanes) this.#leases.endAll(lane);
    this.fallback.close(reason);
    await this.#decisions.settle();
    await this.slots.close(reason);
    await this.#decisions.close();
  }

  /** Gives the moments of a lane, and its leases, back, and asks the store for others. */
  #startAgain(lane: Lane): void {
    this.#leases.endAll(lane);
    this.#turns.gateOf(lane).until = 0;
    lane.heldUntil = 0;
    for (const request of lane.timed) {
      this.#outcomes.untime(request);
      this.#outcomes.sendBack(request);
    }
    this.#turns.serve(lane);
  }

  // --- questions ---

  _askNext(lane: Lane, most: number): void {
    this.#ask(lane, this.#take(lane, most));
  }

  /** Takes the next request of a lane, or equal ones that may all start now. */
  #take(lane: Lane, most: number): readonly SharedRequest[] {
    const taken: SharedRequest[] = [];
    const isSingle =
      this.#rates.isConcurrent ||
      performance.now() < lane.singleUntil ||
      this.#leases.isWanted(lane);
    for (const request of lane) {
      if (taken.length > 0 && (request.weight !== 1 || isSingle || taken.length >= most)) break;
      taken.push(request);
      if (request.weight !== 1) break;
    }
    for (const request of taken) lane.delete(request);
    return taken;
  }

  /** Returns what a request holds, or waits for, of the concurrency; undefined if it needs none. */
  #slotOf(request: SharedRequest): Slot | undefined {
    const { key, weight, since, expires } = request;
    request.slot ??= this.slots.enter(key, weight, expires > since, () => {
      // While the store is asked, its answer decides.
      if (request.state !== 'slotted') return;
      if (!this.#isRefusedSlot(request)) this.#ask(request.lane, [request]);
      this.#turns.served(request.lane);
    });
    request.lane.slotted.delete(request);
    return request.slot;
  }

  /** Whether the slots of a request cannot be held; it then has another state. */
  #isRefusedSlot(request: SharedRequest): boolean {
    const failure = request.slot?.failure;
    if (failure === undefined) return false;
    if (failure.state === 'lost') this.#outcomes.sendBack(request);
    else if (failure.state === 'failed')
      this.#undecided.decide(request, failure.error as StoreError);
    else this.#outcomes.reject(request, timedOut(0, this.#label));
    return true;
  }

  /** Asks the store for requests; for none, only for a lease. */
  #ask(lane: Lane, requests: readonly SharedRequest[]): void {
    const [first] = requests;
    const { weight = 1, expires = 0 } = first ?? {};
    const slot = first && this.#slotOf(first);
    const { key } = lane;
    const { leaseTime } = this.#rates;
    const leases = weight === 1 && this.#leases.isWanted(lane);
    const count = leases ? this.#leases.size : requests.length;
    const gate = this.#turns.gateOf(lane);
    gate.undecided += requests.length;
    lane.asked += requests.length;
    if (leases) lane.isLeasing = true;
    this.#undecided.attend();
    const make = (): StartTerms => {
      const left = expires - performance.now();
      let within = left === Infinity ? -1 : Math.max(0, Math.ceil(left * 1000));
      // Of several requests, those that have to wait are asked for one by one.
      if (requests.length > 1) within = 0;
      // Concurrency is not held for long without a start.
      else if (slot !== undefined) within = within < 0 ? AHEAD : Math.min(within, AHEAD);
      return {
        groups: this.#rates.groupsOf(key, weight),
        within,
        count,
        time: leases ? leaseTime * 1000 : 0,
        look: false,
        ...(slot === undefined ? {} : { held: slot.held }),
      };
    };
    const answered = (): readonly SharedRequest[] => {
      if (leases) lane.isLeasing = false;
      const alive = requests.filter(({ state }) => state === 'asked');
      for (const request of alive) this.#answered(request);
      return alive;
    };
    const question = this.#decisions.ask(
      make,
      {
        decided: (result, sentAt) => {
          const alive = answered();
          if (count > 1 && result.count < count) {
            lane.singleUntil = performance.now() + Math.max(AHEAD_MS, leases ? leaseTime : 0);
          }
          const [request] = alive;
          if (slot === undefined || request === undefined) {
            this.#decided(lane, alive, question, result, leases ? sentAt : undefined);
          } else {
            this.#decidedWithSlot(request, slot, question, result);
          }
          this.#turns.served(lane);
        },
        undecided: (error) => {
          for (const request of answered()) this.#undecided.decide(request, error);
          this.#undecideOld(gate, error);
          this.#turns.served(lane);
        },
      },
      slot && this.slots,
    );
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

  /** `leasedAt`: when the store was asked for a lease. */
  #decided(
    lane: Lane,
    requests: readonly SharedRequest[],
    { groups }: Question,
    result: StartResult,
    leasedAt: number | undefined,
  ): void {
    const gate = this.#turns.gateOf(lane);
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
        // A late answer may come before the timer of an earlier request, which goes first.
        if (delay === 0 && lane.timed.size === 0) this.#outcomes.begin(request);
        else this.#outcomes.time(request, now + delay);
      }
    }
    const isSingle = requests.length === 1;
    for (const request of requests.slice(result.count)) {
      if (isSingle && result.delay < 0) {
        this.#outcomes.reject(request, new RangeError(`${this.#label}weight is above a limit`));
      } else if (isSingle && now + delay > request.expires) {
        const ms = Math.max(0, Math.round(request.expires - request.since));
        this.#outcomes.reject(request, timedOut(ms, this.#label));
      } else {
        // Sent back: an earlier request waits, or its key has to wait although others do not.
        this.#outcomes.sendBack(request);
        if (isSingle) {
          if (result.by > 0) lane.heldUntil = now + delay;
          else gate.until = Math.max(gate.until, now + Math.max(delay - AHEAD_MS, 1));
          gate.sentBack();
        }
      }
    }
  }

  #decidedWithSlot(
    request: SharedRequest,
    slot: Slot,
    question: Question,
    result: StartResult,
  ): void {
    const { lane } = request;
    const { granted, delay } = result;
    const { isHeld } = slot;
    if (granted && !isHeld) {
      // This process does not know yet that it holds the slots, or has lost them.
      this.#decisions.giveBack(question.groups, result.at);
    }
    if (this.#isRefusedSlot(request)) return;
    const isRefused = !granted && (delay < 0 || delay > (isHeld ? 0 : AHEAD));
    if (isRefused || (granted && isHeld)) {
      const count = granted ? 1 : 0;
      this.#decided(lane, [request], question, { ...result, count }, undefined);
    } else if (isHeld || slot.isFresh) {
      this.#ask(lane, [request]);
    } else {
      request.state = 'slotted';
      lane.slotted.add(request);
    }
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
      this.#outcomes.untime(request);
      // The next request may have an earlier moment now.
      this.#turns.gateOf(lane).until = 0;
    }
    this.#undecided.withdraw(request);
    this.#outcomes.reject(request, reason);
    this.#turns.served(lane);
  }

  /** Decides about the requests that have waited for as long as the store may take, because it is away. */
  #undecideOld(gate: Gate, error: StoreError): void {
    const now = performance.now();
    if (gate.until > now) return;
    for (const lane of this.#turns.lanes) {
      if (this.#turns.gateOf(lane) !== gate || lane.heldUntil > now) continue;
      for (const request of [...lane]) {
        if (request.since + this.#terms.deadline > now) break;
        lane.delete(request);
        this.#undecided.decide(request, error);
      }
    }
  }

  // --- leases ---

  /** Starts the waiting requests for which the lease is enough. */
  _serveHere(lane: Lane): void {
    while (lane.lease !== undefined) {
      const request = lane.front;
      if (request === undefined || request.weight !== 1) return;
      const permit = this.#leases.take(lane);
      if (permit === undefined) return;
      lane.delete(request);
      this.#outcomes.begin(request, permit);
    }
  }

  _askAhead(lane: Lane): void {
    this.#ask(lane, []);
  }

  _ended(lane: Lane): void {
    if (lane.waiting > 0) this.#turns.serve(lane);
    else this.#turns.tidy(lane);
  }
}
