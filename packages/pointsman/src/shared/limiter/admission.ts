/**
 * The requests of one process, from the call until they start or are cancelled. `asking.ts` sends them to the store.
 */

import { QueueFullError, timedOut } from '../../sync/errors.js';
import type { Weight } from '../../sync/limiter/rules.js';
import type { WaitOptions } from '../../sync/options.js';
import { giveUpOn } from '../../sync/wait/give-up.js';
import { StoreError } from '../errors.js';
import type { Activity } from '../metrics.js';
import { LATEST } from '../protocol/rate-log.js';
import type { BaseStore } from '../store.js';
import { Asking } from './asking.js';
import { Decisions } from './decisions.js';
import { Fallback } from './fallback.js';
import type { Lane } from './lanes.js';
import type { SharedRates } from './limits.js';
import type { WhenUnavailable } from './options.js';
import type { SharedPermit } from './permit.js';
import { Permits } from './permits.js';
import { Polls, type Verdict } from './polls.js';
import type { SharedRequest } from './request.js';
import { type Slot, Slots } from './slots.js';

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
  readonly #asking: Asking;
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
    const parts = {
      decisions,
      permits,
      fallback: this.fallback,
      slots: this.slots,
      activity,
      stats,
    };
    this.#asking = new Asking(label, rates, terms, parts);
  }

  /** Returns a permit of weight 1 if a lease has one and no request waits for it. */
  startLeased(key: string | undefined): SharedPermit | undefined {
    const lane = this.#asking.turns.find(key);
    return lane?.lease !== undefined && lane.waiting === 0
      ? this.#asking.leases.take(lane)
      : undefined;
  }

  /** Returns a promise of a permit. The caller has checked the weight. Throws if `maxWaiting` requests wait. */
  acquire(key: string | undefined, weight: Weight, options: WaitOptions): Promise<SharedPermit> {
    const { maxWaiting } = this.#terms;
    if (this.#activity.waiting >= maxWaiting) {
      this.stats.dropped++;
      throw new QueueFullError(`${this.#label}the queue is full: ${maxWaiting} waiting`);
    }
    return new Promise((resolve) => {
      const lane = this.#asking.turns.laneOf(key);
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
        grant: undefined,
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
      this.#asking.turns.serve(lane);
    });
  }

  /** Decides at once; rejects if the store does not decide. */
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
      const { decision, index } = await this.ask(key, weight, false, slot);
      if (decision instanceof StoreError) return decision;
      if (!decision.granted || index >= decision.count) return undefined;
      if (slot !== undefined && !slot.isDecided) await settled;
      if (slot === undefined || slot.isHeld)
        permit = this.permits.make({ grant: decision, weight, slot });
      else this.#decisions.giveBack(decision);
      return permit;
    } finally {
      if (permit === undefined) slot?.leave();
      this.#activity.count(-1, 0);
    }
  }

  /** Asks the store at once, past the requests that wait here, which have the store's next moments. */
  ask(key: string | undefined, weight: Weight, look: boolean, slot?: Slot): Promise<Verdict> {
    this.#asking.undecided.attend();
    return this.#polls.ask(key, weight, look, slot);
  }

  async penalize(ms: number, key: string | undefined): Promise<void> {
    const isWhole = key === undefined;
    // Larger numbers have an exponent in decimal text, which the script does not read.
    const time = Math.min(Math.ceil(ms * 1000), LATEST);
    const done = this.#decisions.penalize(this.#rates.nameOf(key, isWhole), time);
    // The store has given moments, and starts ahead, that may be too early now.
    if (isWhole) for (const lane of this.#asking.turns.lanes) this.#startAgain(lane);
    else this.#startAgain(this.#asking.turns.laneOf(key));
    await done;
  }

  /** The limits have changed. */
  changed(): void {
    for (const lane of this.#asking.turns.lanes) {
      // A claim in the queue has the limit of its request.
      for (const request of lane.slotted) this.#asking.outcomes.sendBack(request);
      this.#startAgain(lane);
    }
    this.fallback.changed();
  }

  rejectAll(reason: unknown): void {
    const inLanes = [...this.#asking.turns.lanes].flatMap((lane) => [
      ...lane.timed,
      ...lane.slotted,
      ...lane,
    ]);
    for (const request of [...inLanes, ...this.#asking.asked, ...this.#asking.undecided.requests]) {
      this.#cancel(request, reason);
    }
    this.#polls.close(reason);
    this.#decisions.dropAll();
  }

  /** Gives back what is not used, and disconnects. */
  async close(reason: unknown): Promise<void> {
    this.#asking.turns.close();
    for (const lane of this.#asking.turns.lanes) this.#asking.leases.endAll(lane);
    this.fallback.close(reason);
    await this.#decisions.settle();
    await this.slots.close(reason);
    await this.#decisions.close(reason);
  }

  /** Gives the moments of a lane, and its leases, back, and asks the store for others. */
  #startAgain(lane: Lane): void {
    this.#asking.leases.endAll(lane);
    this.#asking.turns.gateOf(lane).until = 0;
    lane.heldUntil = 0;
    for (const request of lane.timed) {
      this.#asking.outcomes.untime(request);
      this.#asking.outcomes.sendBack(request);
    }
    this.#asking.turns.serve(lane);
  }

  #cancel(request: SharedRequest, reason: unknown): void {
    const { lane, state } = request;
    if (state === 'over') return;
    if (state === 'queued') {
      lane.delete(request);
    } else if (state === 'asked') {
      this.#asking.withdraw(request);
    } else if (state === 'timed') {
      this.#asking.outcomes.untime(request);
      // The next request may have an earlier moment now.
      this.#asking.turns.gateOf(lane).until = 0;
    }
    this.#asking.undecided.withdraw(request);
    this.#asking.outcomes.reject(request, reason);
    this.#asking.turns.served(lane);
  }
}
