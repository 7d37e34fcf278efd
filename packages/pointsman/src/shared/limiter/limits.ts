/** The rates of a shared limiter, and what a request takes from them. */

import { checkInteger } from '../../sync/errors.js';
import type { ReadRate } from '../../sync/limiter/rates.js';
import { type Weight, weighs } from '../../sync/limiter/rules.js';
import { checkOptions } from '../../sync/options.js';
import type { StartRate } from '../protocol/rate-log.js';
import type { StartGroup } from '../protocol/starts.js';
import { MAX_LIMIT, type SharedLimits, travelling } from './options.js';

/** Starts are taken ahead for this part of the shortest window; the same part of the limit can stay unused. */
const LEASE_PART = 1 / 128;
/** Milliseconds. */
const MAX_LEASE = 1_000;

const onesOf = (rates: readonly StartRate[]): readonly number[] => rates.map(() => 1);

class RateSet {
  readonly read: readonly ReadRate[];
  readonly rates: readonly StartRate[];
  readonly ones: readonly number[];

  constructor(read: readonly ReadRate[]) {
    this.read = read;
    this.rates = travelling(read);
    this.ones = onesOf(this.rates);
  }

  weights(weight: Weight): readonly number[] {
    return weight === 1 ? this.ones : this.rates.map(({ name }) => weighs(weight, name));
  }
}

export class SharedRates {
  readonly #name: string;
  readonly #label: string;
  #all = new RateSet([]);
  #perKey = new RateSet([]);
  /** The maximum total weight that runs, of all requests and of each key. */
  concurrency = Infinity;
  keyConcurrency = Infinity;
  /** Milliseconds for which starts are taken ahead. */
  leaseTime = 0;

  constructor(name: string, label: string, limits: SharedLimits) {
    // The length keeps the names of limiters and keys apart.
    this.#name = `${name.length}:${name}`;
    this.#label = label;
    this.change(limits);
  }

  change({ all, perKey }: SharedLimits): void {
    this.concurrency = all.concurrency ?? this.concurrency;
    this.keyConcurrency = perKey.concurrency ?? this.keyConcurrency;
    if (all.rates !== undefined) this.#all = new RateSet(all.rates);
    if (perKey.rates !== undefined) this.#perKey = new RateSet(perKey.rates);
    const times = [...this.#all.read, ...this.#perKey.read].map(
      // A bucket is refilled meanwhile, so starts that are taken ahead may cost more of it.
      ({ limit, per, burst }) =>
        burst === undefined ? per * LEASE_PART : (per * burst) / limit / 8,
    );
    this.leaseTime = Math.floor(Math.min(MAX_LEASE, ...times));
  }

  get all(): readonly ReadRate[] {
    return this.#all.read;
  }

  get perKey(): readonly ReadRate[] {
    return this.#perKey.read;
  }

  /** Whether the requests of all keys share rates. */
  get isShared(): boolean {
    return this.#all.rates.length > 0;
  }

  get hasRates(): boolean {
    return this.all.length + this.perKey.length > 0;
  }

  /** The name by which the store knows the limiter, or a key of it. */
  nameOf(key: string | undefined, isWhole = false): string {
    return isWhole ? this.#name : `${this.#name}:${key ?? ''}`;
  }

  /** The name of the record of the processes that use the limiter. */
  get processes(): string {
    return `${this.#name}/`;
  }

  /** What a request takes. The rates that may let it wait come first; a group without rates has only penalties. */
  groupsOf(key: string | undefined, weight: Weight): readonly StartGroup[] {
    const all = this.#groupOf(this.#name, this.#all, weight);
    const own = this.#groupOf(this.nameOf(key), this.#perKey, weight);
    if (!this.isShared) return [own, all];
    return key === undefined && this.#perKey.rates.length === 0 ? [all] : [all, own];
  }

  #groupOf(limiter: string, set: RateSet, weight: Weight): StartGroup {
    return { limiter, rates: set.rates, weights: set.weights(weight) };
  }

  /** The names of the claims for the concurrency of a key and of all requests, and their limits. */
  slotsOf(key: string | undefined): readonly (readonly [name: string, limit: number])[] {
    return [
      [`\0${this.nameOf(key)}`, this.keyConcurrency],
      [`\0${this.#name}`, this.concurrency],
    ];
  }

  get isConcurrent(): boolean {
    return Math.min(this.concurrency, this.keyConcurrency) < Infinity;
  }

  /** Throws unless a request of this weight can start. */
  check(weight: Weight): void {
    // Every limit admits it.
    if (weight === 1) return;
    this.#check(weight, 1, ({ limit, burst = limit }) => burst);
  }

  /** Throws unless a start may turn out to have this weight, which may be above a limit. */
  checkActual(weight: Weight): void {
    this.#check(weight, 0, () => MAX_LIMIT);
  }

  #check(weight: Weight, least: number, mostOf: (rate: ReadRate) => number): void {
    const rates = [...this.#all.read, ...this.#perKey.read];
    const isRecord = weight !== null && typeof weight === 'object';
    if (isRecord) checkOptions(weight, ['concurrency', ...rates.map(({ name }) => name)], 'weight');
    const { concurrency, keyConcurrency } = this;
    const most = least === 0 ? MAX_LIMIT : Math.min(concurrency, keyConcurrency, MAX_LIMIT);
    rates.push({ name: 'concurrency', limit: most, per: 1 });
    for (const rate of rates) {
      const argument = isRecord ? `weight.${rate.name}` : 'weight';
      const value = isRecord ? weighs(weight, rate.name) : weight;
      checkInteger(this.#label + argument, value, isRecord ? 0 : least, mostOf(rate));
    }
  }
}
