/**
 * The reference model of the limiter: keeps every start, and answers every question by going through all of them. The
 * test sets the time, one millisecond after the other.
 */

import type { Rate } from '../rates.js';
import type { Limits, Weight } from '../rules.js';

export interface Wish {
  readonly id: number;
  readonly key: unknown;
  readonly priority: number;
  readonly weight: Weight;
}

export type Outcome = 'full' | 'aborted' | 'too much';

interface Start {
  readonly at: number;
  readonly weight: Weight;
}

const weighs = (weight: Weight, name: string): number =>
  typeof weight === 'number' ? weight : (weight[name] ?? 1);

const nameOf = (rate: Rate): string => rate.name ?? 'rate';

/** Rules, and everything that has started under them. */
class Book {
  out = 0;
  until = Number.NEGATIVE_INFINITY;
  readonly starts: Start[] = [];
  concurrency: number;
  rates: Rate[];
  /** When each bucket is full. */
  readonly full: number[] = [];

  constructor(limits: Limits) {
    this.concurrency = limits.concurrency ?? Number.POSITIVE_INFINITY;
    this.rates = [limits.rate ?? []].flat() as Rate[];
    this.full = this.rates.map(() => Number.NEGATIVE_INFINITY);
  }

  /** The same kinds of rates, with other limits. What is missing from a bucket stays missing. */
  change(limits: Limits, now: number): void {
    this.concurrency = limits.concurrency ?? this.concurrency;
    if (limits.rate === undefined) return;
    const rates = [limits.rate].flat() as Rate[];
    rates.forEach((rate, index) => {
      const before = this.rates[index] as Rate;
      const missing = Math.max((this.full[index] as number) - now, 0) / (before.per / before.limit);
      if (missing > 0) this.full[index] = now + missing * (rate.per / rate.limit);
    });
    this.rates = rates;
  }

  /** The weight that has started in the window that ends now. */
  used(rate: Rate, now: number): number {
    return this.starts
      .filter(({ at }) => at + rate.per > now)
      .reduce((sum, { weight }) => sum + weighs(weight, nameOf(rate)), 0);
  }

  never(weight: Weight): boolean {
    return (
      weighs(weight, 'concurrency') > this.concurrency ||
      this.rates.some((rate) => weighs(weight, nameOf(rate)) > (rate.burst ?? rate.limit))
    );
  }

  allows(weight: Weight, now: number): boolean {
    return (
      now >= this.until &&
      this.out + weighs(weight, 'concurrency') <= this.concurrency &&
      this.rates.every((rate, index) => {
        const asked = weighs(weight, nameOf(rate));
        if (asked === 0) return true;
        if (rate.burst === undefined) return this.used(rate, now) + asked <= rate.limit;
        const missing = Math.max((this.full[index] as number) - now, 0) / (rate.per / rate.limit);
        return missing + asked <= rate.burst;
      })
    );
  }

  start(weight: Weight, now: number): void {
    this.out += weighs(weight, 'concurrency');
    this.starts.push({ at: now, weight });
    this.rates.forEach((rate, index) => {
      const full = Math.max(this.full[index] as number, now);
      this.full[index] = full + weighs(weight, nameOf(rate)) * (rate.per / rate.limit);
    });
  }

  /** Whether the state is as if nothing had ever started. */
  isClear(now: number): boolean {
    return (
      this.out === 0 &&
      now >= this.until &&
      this.rates.every((rate, index) =>
        rate.burst === undefined ? this.used(rate, now) === 0 : (this.full[index] as number) <= now,
      )
    );
  }
}

class ModelLane extends Book {
  readonly waiting: Wish[] = [];
  turn = 0;

  get front(): Wish | undefined {
    // The first of the highest priority: the order of arrival is that of the array.
    return this.waiting.reduce<Wish | undefined>(
      (best, wish) => (best === undefined || wish.priority > best.priority ? wish : best),
      undefined,
    );
  }
}

export interface ModelOptions extends Limits {
  readonly perKey?: Limits | undefined;
  readonly maxWaiting: number;
  readonly whenFull: 'reject' | 'drop-oldest';
}

export class ModelLimiter {
  now = 0;
  paused = false;
  readonly shared: Book;
  readonly lanes = new Map<unknown, ModelLane>();
  readonly #options: ModelOptions;
  #perKey: Limits;
  #turn = 0;
  readonly #report: (id: number, outcome: Outcome | 'started') => void;

  constructor(options: ModelOptions, report: (id: number, outcome: Outcome | 'started') => void) {
    this.shared = new Book(options);
    this.#perKey = options.perKey ?? {};
    this.#options = options;
    this.#report = report;
  }

  get waiting(): number {
    return [...this.lanes.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  get keyCount(): number {
    return [...this.lanes].filter(
      ([key, lane]) => key !== undefined && !(lane.waiting.length === 0 && lane.isClear(this.now)),
    ).length;
  }

  /** Whether it can never start. */
  never(weight: Weight): boolean {
    return this.shared.never(weight) || new Book(this.#perKey).never(weight);
  }

  request(wish: Wish): void {
    const { maxWaiting, whenFull } = this.#options;
    const refuse = () => this.#report(wish.id, 'full');
    this.#join(wish);
    this.settle();
    const lane = this.#laneOf(wish.key);
    if (!lane.waiting.includes(wish) || this.waiting <= maxWaiting) return;
    lane.waiting.splice(lane.waiting.indexOf(wish), 1);
    if (whenFull === 'reject') {
      refuse();
    } else {
      const [oldest] = [...this.lanes.values()]
        .flatMap(({ waiting }) => waiting)
        .sort((a, b) => a.priority - b.priority || a.id - b.id);
      if (oldest === undefined || oldest.priority > wish.priority) {
        refuse();
        return;
      }
      this.leave(oldest.id, 'full', false);
      this.#join(wish);
      this.settle();
    }
  }

  tryStart(wish: Wish): boolean {
    this.#join(wish);
    this.settle();
    const lane = this.#laneOf(wish.key);
    const index = lane.waiting.indexOf(wish);
    if (index >= 0) lane.waiting.splice(index, 1);
    return index < 0;
  }

  giveBack({ key, weight }: Wish): void {
    this.shared.out -= weighs(weight, 'concurrency');
    this.#laneOf(key).out -= weighs(weight, 'concurrency');
    this.settle();
  }

  /** Removes a waiting request. */
  leave(id: number, outcome: Outcome, settles = true): void {
    for (const { waiting } of this.lanes.values()) {
      const index = waiting.findIndex((wish) => wish.id === id);
      if (index < 0) continue;
      waiting.splice(index, 1);
      this.#report(id, outcome);
      if (settles) this.settle();
      return;
    }
  }

  penalize(ms: number, key: unknown): void {
    const book = key === undefined ? this.shared : this.#laneOf(key);
    book.until = Math.max(book.until, this.now + ms);
    this.settle();
  }

  setLimits({ perKey, ...limits }: Limits & { readonly perKey?: Limits | undefined }): void {
    this.shared.change(limits, this.now);
    if (perKey !== undefined) {
      this.#perKey = { ...this.#perKey, ...perKey };
      for (const lane of this.lanes.values()) lane.change(perKey, this.now);
    }
    this.settle();
  }

  /** Starts the requests that have the turn and may start. */
  settle(): void {
    for (;;) {
      const [lane] = [...this.lanes.values()]
        .filter(({ front }) => front !== undefined)
        .filter((lane) => {
          const { weight } = lane.front as Wish;
          return lane.never(weight) || lane.allows(weight, this.now);
        })
        .sort((a, b) => (b.front as Wish).priority - (a.front as Wish).priority || a.turn - b.turn);
      if (lane === undefined || this.paused) return;
      const front = lane.front as Wish;
      if (this.shared.never(front.weight) || lane.never(front.weight)) {
        this.#take(lane, front, 'too much');
      } else if (this.shared.allows(front.weight, this.now)) {
        this.shared.start(front.weight, this.now);
        lane.start(front.weight, this.now);
        lane.turn = ++this.#turn;
        this.#take(lane, front, 'started');
      } else {
        return;
      }
    }
  }

  #take(lane: ModelLane, wish: Wish, outcome: Outcome | 'started'): void {
    lane.waiting.splice(lane.waiting.indexOf(wish), 1);
    this.#report(wish.id, outcome);
  }

  #join(wish: Wish): void {
    const lane = this.#laneOf(wish.key);
    if (lane.waiting.length === 0) lane.turn = ++this.#turn;
    lane.waiting.push(wish);
  }

  #laneOf(key: unknown): ModelLane {
    let lane = this.lanes.get(key);
    if (lane === undefined) {
      lane = new ModelLane(this.#perKey);
      this.lanes.set(key, lane);
    }
    return lane;
  }
}
