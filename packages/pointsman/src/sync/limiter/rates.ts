/**
 * Rates: sliding windows and token buckets. Pure: the caller passes the time.
 *
 * Invariant: a weight counts in full from when it is taken until it is logged, and from then on with the time of the
 * log. A start lies between the two. So if the caller logs each start after it has surely happened, the guarantees hold
 * for the moments of the starts, however long after the admission they are.
 */

import { checkInteger, describe, invalid } from '../errors.js';
import { checkOptions } from '../options.js';

/** A rate limit: a sliding window, or with `burst` a token bucket. */
export interface Rate {
  /** The weight that may start in a window, or that flows into the bucket in `per`: an integer from 1 on. */
  readonly limit: number;
  /** The length of the window in milliseconds: any finite number above 0. */
  readonly per: number;
  /**
   * Without it, no interval of `per` milliseconds contains more than `limit` starts. With it, the size of a token bucket
   * that is full at first, an integer from 1 on: no interval of `t` milliseconds contains more than
   * `burst + limit * t / per` starts.
   */
  readonly burst?: number | undefined;
  /** The name by which weights refer to this rate; unique among the rates of a limiter. Default: `'rate'`. */
  readonly name?: string | undefined;
}

export interface ReadRate extends Rate {
  readonly name: string;
}

const rateNames: readonly string[] = ['limit', 'per', 'burst', 'name'];

/** Reads one rate or several. Throws if they cannot be used. */
export function readRates(rates: Rate | readonly Rate[]): ReadRate[] {
  const all = Array.isArray(rates) ? rates : [rates];
  if (all.length === 0) throw new TypeError('rate must not be an empty array');
  const names = new Set(['concurrency']);
  return all.map((rate: Rate) => {
    checkOptions(rate, rateNames, 'rate');
    const { limit, per, burst, name = 'rate' } = rate;
    checkInteger('rate.limit', limit, 1);
    if (!(typeof per === 'number' && per > 0 && per < Infinity)) {
      throw invalid('rate.per', per, 'a finite number of milliseconds above 0', 'number');
    }
    if (burst !== undefined) checkInteger('rate.burst', burst, 1);
    if (typeof name !== 'string') throw invalid('rate.name', name, 'a string');
    // A record of weights has one number for each name.
    if (names.has(name)) {
      const taken = [...names].join(', ');
      throw new TypeError(`rate.name must be none of ${taken}, got ${describe(name)}`);
    }
    names.add(name);
    return { limit, per, burst, name };
  });
}

/** What is taken from a rate, and what is logged. */
export abstract class Meter {
  rate: ReadRate;
  /** The weight that is taken and not logged yet. */
  #taken = 0;

  constructor(rate: ReadRate) {
    this.rate = rate;
  }

  get max(): number {
    return this.rate.burst ?? this.rate.limit;
  }

  /** Returns when this weight may start: `Infinity` as long as that depends on a log, `NaN` if it never may. */
  availableAt(weight: number): number {
    if (weight === 0) return -Infinity;
    const left = this.max - this.#taken - weight;
    if (left >= 0) return this._availableAt(left);
    return weight > this.max ? Number.NaN : Infinity;
  }

  take(weight: number): void {
    this.#taken += weight;
  }

  /** Logs a start that has happened by `now`. Times must not decrease. */
  log(weight: number, now: number): void {
    this.#taken -= weight;
    if (weight > 0) this._add(weight, now);
  }

  /** Changes the weight of a start that was logged at this time. A higher one counts from now on. */
  correct(change: number, at: number, now: number): void {
    if (change > 0) this._add(change, now);
    else if (change < 0) this._remove(-change, at);
  }

  abstract change(rate: ReadRate, now: number): void;

  /** Returns when at most `weight` of the logged weight still counts. */
  abstract _availableAt(weight: number): number;

  abstract _add(weight: number, now: number): void;

  /** Removes a weight that was added at this time, unless it is forgotten. */
  abstract _remove(weight: number, at: number): void;
}

/**
 * A sliding window: the exact log of its starts.
 *
 * The log holds pairs of a time and the total weight that had started by then, so that a bisection finds the moment at
 * which a given weight has left the window. Its first pair stands for all that is forgotten.
 */
class Window extends Meter {
  readonly #log: number[] = [-Infinity, 0];
  /** The index of the first pair. */
  #first = 0;

  change(rate: ReadRate): void {
    this.rate = rate;
  }

  _availableAt(weight: number): number {
    const log = this.#log;
    const gone = (log[log.length - 1] as number) - weight;
    const first = this.#first;
    // The common case, a window with enough left: everything that must have left is forgotten.
    if (gone <= (log[first + 1] as number)) return (log[first] as number) + this.rate.per;
    let low = first / 2;
    let high = log.length / 2 - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((log[2 * middle + 1] as number) < gone) low = middle + 1;
      else high = middle;
    }
    return (log[2 * low] as number) + this.rate.per;
  }

  _add(weight: number, now: number): void {
    const log = this.#log;
    const last = log.length - 1;
    const sum = (log[last] as number) + weight;
    if (log[last - 1] === now) {
      log[last] = sum;
      return;
    }
    log.push(now, sum);
    while ((log[this.#first + 2] as number) + this.rate.per <= now) this.#first += 2;
    if (this.#first > log.length / 2) {
      log.splice(0, this.#first);
      this.#first = 0;
    }
  }

  _remove(weight: number, at: number): void {
    const log = this.#log;
    const start = log.indexOf(at, this.#first + 2);
    // The sums are of all starts by then.
    for (let i = start + 1; start > 0 && i < log.length; i += 2)
      log[i] = (log[i] as number) - weight;
  }
}

/** A token bucket, which is determined by the moment at which it is full. */
class Bucket extends Meter {
  #full = -Infinity;
  /** The time of the last start that found it full, and the least time that it missed to be full at a later start. */
  #since = -Infinity;
  #least = Infinity;

  change(rate: ReadRate, now: number): void {
    const missing = (this.#full - now) / this.#interval;
    this.rate = rate;
    if (missing > 0) this.#full = now + missing * this.#interval;
    // In the new interval it is unknown.
    this.#since = now;
  }

  _availableAt(weight: number): number {
    return this.#full - weight * this.#interval;
  }

  _add(weight: number, now: number): void {
    const missing = this.#full - now;
    if (missing > 0) {
      this.#least = Math.min(this.#least, missing);
    } else {
      this.#full = now;
      this.#since = now;
      this.#least = Infinity;
    }
    this.#full += weight * this.#interval;
  }

  _remove(weight: number, at: number): void {
    if (at < this.#since) return;
    // Without that start it would have been full at the moment at which the least was missing; more is lost.
    const credit = Math.min(weight * this.#interval, this.#least);
    this.#full -= credit;
    this.#least -= credit;
  }

  /** The milliseconds in which one token flows in. */
  get #interval(): number {
    return this.rate.per / this.rate.limit;
  }
}

export const createMeter = (rate: ReadRate): Meter =>
  new (rate.burst === undefined ? Window : Bucket)(rate);
