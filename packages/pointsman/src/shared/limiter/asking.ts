/**
 * Sends the requests whose turn it is to the store, and acts on the replies.
 *
 * - A start costs one round trip. The reply has the start time of a request that has to wait, so the wait costs nothing.
 * - While the first request of a key has a long delay, the later ones are not sent. So another key gets its turn, and a
 *   cancelled request delays no other.
 * - With a lease, requests of weight 1 start without a round trip.
 * - With a concurrency, the claim of the slots and the start are one batch. A request that waits for slots asks for its
 *   start again when it holds them. A request that the rates delay by more than `AHEAD` releases its slots.
 */

import { timedOut } from '../../sync/errors.js';
import type { StoreError } from '../errors.js';
import type { Activity } from '../metrics.js';
import { AHEAD } from '../protocol/starts.js';
import type { Decision, Decisions, StartTerms } from './decisions.js';
import type { Fallback } from './fallback.js';
import type { Gate, Lane } from './lanes.js';
import { Leases, leaseEnd } from './leases.js';
import type { SharedRates } from './limits.js';
import type { WhenUnavailable } from './options.js';
import { Outcomes } from './outcomes.js';
import type { Permits } from './permits.js';
import type { SharedRequest } from './request.js';
import type { Slot, Slots } from './slots.js';
import { Turns } from './turns.js';
import { Undecided } from './undecided.js';

/** Milliseconds. */
const AHEAD_MS = AHEAD / 1000;

interface Terms {
  readonly lease: number;
  readonly deadline: number;
  readonly whenUnavailable: WhenUnavailable;
}

interface Parts {
  readonly decisions: Decisions;
  readonly permits: Permits;
  readonly fallback: Fallback;
  readonly slots: Slots;
  readonly activity: Activity;
  readonly stats: { cancelled: number; undecided: number };
}

export class Asking {
  readonly turns: Turns;
  readonly leases: Leases;
  readonly outcomes: Outcomes;
  readonly undecided: Undecided;
  /** The requests that the store is deciding. */
  readonly asked = new Set<SharedRequest>();
  readonly #label: string;
  readonly #rates: SharedRates;
  readonly #deadline: number;
  readonly #decisions: Decisions;
  readonly #slots: Slots;

  constructor(
    label: string,
    rates: SharedRates,
    { lease, deadline, whenUnavailable }: Terms,
    { decisions, permits, fallback, slots, activity, stats }: Parts,
  ) {
    this.#label = label;
    this.#rates = rates;
    this.#deadline = deadline;
    this.#decisions = decisions;
    this.#slots = slots;
    this.turns = new Turns(rates, this);
    this.leases = new Leases(lease, rates, decisions, permits, this);
    this.outcomes = new Outcomes(permits, decisions, activity, stats, this.turns);
    this.undecided = new Undecided(
      whenUnavailable,
      fallback,
      decisions,
      stats,
      this.outcomes,
      permits,
    );
  }

  _askNext(lane: Lane, most: number): void {
    this.#ask(lane, this.#take(lane, most));
  }

  /** Takes the next request of a lane, or equal ones that may all start now. */
  #take(lane: Lane, most: number): readonly SharedRequest[] {
    const taken: SharedRequest[] = [];
    const isSingle =
      this.#rates.isConcurrent ||
      performance.now() < lane.singleUntil ||
      this.leases.isWanted(lane);
    for (const request of lane) {
      if (taken.length > 0 && (request.weight !== 1 || isSingle || taken.length >= most)) break;
      taken.push(request);
      if (request.weight !== 1) break;
    }
    for (const request of taken) lane.delete(request);
    return taken;
  }

  /** Returns the slots that a request holds or waits for; undefined if it needs none. */
  #slotOf(request: SharedRequest): Slot | undefined {
    const { key, weight, since, expires } = request;
    request.slot ??= this.#slots.enter(key, weight, expires > since, () => {
      // While the store decides, its reply settles this.
      if (request.state !== 'slotted') return;
      if (!this.#isRefusedSlot(request)) this.#ask(request.lane, [request]);
      this.turns.served(request.lane);
    });
    request.lane.slotted.delete(request);
    return request.slot;
  }

  /** Whether the request cannot get its slots. Then it is no longer `slotted`. */
  #isRefusedSlot(request: SharedRequest): boolean {
    const failure = request.slot?.failure;
    if (failure === undefined) return false;
    if (failure.state === 'lost') this.outcomes.sendBack(request);
    else if (failure.state === 'failed')
      this.undecided.decide(request, failure.error as StoreError);
    else this.outcomes.reject(request, timedOut(0, this.#label));
    return true;
  }

  /** Asks the store to start the requests; with an empty list, only for a lease. */
  #ask(lane: Lane, requests: readonly SharedRequest[]): void {
    const [first] = requests;
    const { weight = 1, expires = 0 } = first ?? {};
    const slot = first && this.#slotOf(first);
    const { key } = lane;
    const { leaseTime } = this.#rates;
    const leases = weight === 1 && this.leases.isWanted(lane);
    const count = leases ? this.leases.size : requests.length;
    const gate = this.turns.gateOf(lane);
    gate.undecided += requests.length;
    lane.asked += requests.length;
    if (leases) lane.isLeasing = true;
    this.undecided.attend();
    const make = (): StartTerms => {
      const left = expires - performance.now();
      let within = left === Infinity ? -1 : Math.max(0, Math.ceil(left * 1000));
      // Of several requests, those that have to wait are sent again one by one.
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
            // A concurrency may have been set since.
            const isLease = leases && !this.#rates.isConcurrent;
            const until = isLease ? leaseEnd(sentAt, leaseTime) : undefined;
            this.#decided(lane, alive, result, until);
          } else {
            this.#decidedWithSlot(request, slot, result);
          }
          this.turns.served(lane);
        },
        undecided: (error) => {
          for (const request of answered()) this.undecided.decide(request, error);
          this.#undecideOld(gate, error);
          this.turns.served(lane);
        },
      },
      slot && this.#slots,
    );
    question.askers = requests.length;
    for (const request of requests) {
      request.state = 'asked';
      request.gate = gate;
      request.question = question;
      this.asked.add(request);
    }
  }

  #answered(request: SharedRequest): void {
    this.asked.delete(request);
    (request.gate as Gate).undecided--;
    request.lane.asked--;
  }

  /** `leasedUntil`: when what is left of the starts ends, if it is a lease. */
  #decided(
    lane: Lane,
    requests: readonly SharedRequest[],
    result: Decision,
    leasedUntil: number | undefined,
  ): void {
    const gate = this.turns.gateOf(lane);
    const delay = result.delay / 1000;
    const now = performance.now();
    const started = requests.slice(0, result.count);
    if (result.granted) {
      if (delay > AHEAD_MS) gate.until = now + delay - AHEAD_MS;
      else gate.admitted();
      const left = result.count - started.length;
      if (left > 0 && leasedUntil !== undefined) this.leases.begin(lane, result, left, leasedUntil);
      else if (left > 0) this.#decisions.giveBack(result, left);
      for (const request of started) {
        request.grant = result;
        // A late reply may arrive before the timer of an earlier request, which goes first. But a lease is logged with its
        // end, which does not tell whether the start time of that one has passed.
        if (delay === 0 && (lane.timed.size === 0 || left > 0)) this.outcomes.begin(request);
        else this.outcomes.time(request, now + delay);
      }
    }
    const isSingle = requests.length === 1;
    for (const request of requests.slice(result.count)) {
      if (isSingle && result.delay < 0) {
        this.outcomes.reject(request, new RangeError(`${this.#label}weight is above a limit`));
      } else if (isSingle && now + delay > request.expires) {
        const ms = Math.max(0, Math.round(request.expires - request.since));
        this.outcomes.reject(request, timedOut(ms, this.#label));
      } else {
        // Sent back: an earlier request waits, or its key has to wait although others do not.
        this.outcomes.sendBack(request);
        if (isSingle) {
          if (result.by > 0) lane.heldUntil = now + delay;
          else gate.until = Math.max(gate.until, now + Math.max(delay - AHEAD_MS, 1));
          gate.sentBack();
        }
      }
    }
  }

  #decidedWithSlot(request: SharedRequest, slot: Slot, result: Decision): void {
    const { lane } = request;
    const { granted, delay } = result;
    const { isHeld } = slot;
    if (granted && !isHeld) {
      // This process does not know yet that it holds the slots, or has lost them.
      this.#decisions.giveBack(result);
    }
    if (this.#isRefusedSlot(request)) return;
    const isRefused = !granted && (delay < 0 || delay > (isHeld ? 0 : AHEAD));
    if (isRefused || (granted && isHeld)) {
      const count = granted ? 1 : 0;
      this.#decided(lane, [request], { ...result, count }, undefined);
    } else if (isHeld || slot.isFresh) {
      this.#ask(lane, [request]);
    } else {
      request.state = 'slotted';
      lane.slotted.add(request);
    }
  }

  /** Cancels a request that the store is deciding. */
  withdraw(request: SharedRequest): void {
    this.#answered(request);
    request.state = 'over';
    const { question, lane } = request;
    // If no request waits for the reply, the question is not sent, or its grant is returned.
    if (question !== undefined && --question.askers === 0) {
      this.#decisions.drop(question);
      if (request.weight === 1) lane.isLeasing = false;
    }
  }

  /** Applies `whenUnavailable` to the requests that have waited for the `deadline` while the store is unreachable. */
  #undecideOld(gate: Gate, error: StoreError): void {
    const now = performance.now();
    if (gate.until > now) return;
    for (const lane of this.turns.lanes) {
      if (this.turns.gateOf(lane) !== gate || lane.heldUntil > now) continue;
      for (const request of [...lane]) {
        if (request.since + this.#deadline > now) break;
        lane.delete(request);
        this.undecided.decide(request, error);
      }
    }
  }

  // --- leases ---

  /** Starts the waiting requests for which the lease is enough. */
  _serveHere(lane: Lane): void {
    while (lane.lease !== undefined) {
      const request = lane.front;
      if (request === undefined || request.weight !== 1) return;
      const permit = this.leases.take(lane);
      if (permit === undefined) return;
      lane.delete(request);
      this.outcomes.begin(request, permit);
    }
  }

  _askAhead(lane: Lane): void {
    this.#ask(lane, []);
  }

  _ended(lane: Lane): void {
    if (lane.waiting > 0) this.turns.serve(lane);
    else this.turns.tidy(lane);
  }
}
