/**
 * How much may start in how much time: pure functions of the time that they are told.
 *
 * Invariant: what has been taken counts in full from the moment at which it is taken until it is logged, and from
 * then on with the time of the log. Whoever logs when something has surely started keeps the law for the moments
 * at which things really start, however late after being let in: each lies between its taking and its log.
 */

import { checkInteger, describe, invalid } from '../errors.js';
import { checkOptions } from '../options.js';

/** So much per time. */
export interface Rate {
  /** How much weight may start in a window, or flows into the bucket in that time: an integer from 1 on. */
  readonly limit: number;
  /** How long that is, in milliseconds: any number above 0. */
  readonly per: number;
  /**
   * Without it, the rate is a window that slides: in no `per` milliseconds does more than `limit` start, wherever
   * they begin. With it, a token bucket that holds this much, an integer from 1 on, and is full at first: in any
   * `t` milliseconds at most `burst + limit * t / per` starts.
   */
  readonly burst?: number | undefined;
  /** The name by which weights refer to this rate; unique among the rates of a limiter. Default `'rate'`. */
  readonly name?: string | undefined;
}

/** A rate as it has been checked. */
export interface ReadRate extends Rate {
  readonly name: string;
}

const rateNames: ReadonlySet<string> = new Set(['limit', 'per', 'burst', 'name']);

/** One rate, or several that hold together. Throws for what cannot be used. */
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
    // An object of weights has one number for each name.
    if (names.has(name)) {
      const taken = [...names].join(', ');
      throw new TypeError(`rate.name must be none of ${taken}, got ${describe(name)}`);
    }
    names.add(name);
    return { limit, per, burst, name };
  });
}

/** What a rate knows of what has started. */
export abstract class Meter {
  rate: ReadRate;
  /** What has been taken and not been logged. */
  #taken = 0;

  constructor(rate: ReadRate) {
    this.rate = rate;
  }

  /** The greatest weight that can ever start. */
  get most(): number {
    return this.rate.burst ?? this.rate.limit;
  }

  /** When so much may start: `Infinity` as long as that depends on what is not logged yet, `NaN` for never. */
  at(weight: number): number {
    if (weight === 0) return -Infinity;
    const room = this.most - this.#taken - weight;
    if (room >= 0) return this._leaves(room);
    return weight > this.most ? Number.NaN : Infinity;
  }

  take(weight: number): void {
    this.#taken += weight;
  }

  /** What was taken has started, now at the latest. Times never go back. */
  log(weight: number, now: number): void {
    this.#taken -= weight;
    if (weight > 0) this._add(weight, now);
  }

  /** Goes on with other numbers. Without having been told of what started before, it counts as used up now. */
  abstract change(rate: ReadRate, now: number): void;

  /** When no more than so much of what is logged counts. */
  abstract _leaves(weight: number): number;

  abstract _add(weight: number, now: number): void;
}

/**
 * A window that slides: the exact log of what started in it.
 *
 * The log holds a time and all that had started by then, time after time, so that the moment at which so much will
 * have left is found by bisection. Its first entry stands for all that has been forgotten.
 */
class Window extends Meter {
  readonly #log: number[] = [-Infinity, 0];
  /** Where the first entry is. */
  #first = 0;

  change(rate: ReadRate): void {
    this.rate = rate;
  }

  _leaves(weight: number): number {
    const log = this.#log;
    const gone = (log[log.length - 1] as number) - weight;
    const first = this.#first;
    // Nearly always, in a window that is not full: all that must have left is forgotten.
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
}

/** A token bucket: all that it knows is when it will be full. */
class Bucket extends Meter {
  #full = -Infinity;

  change(rate: ReadRate, now: number): void {
    const missing = (this.#full - now) / this.#each;
    this.rate = rate;
    if (missing > 0) this.#full = now + missing * this.#each;
  }

  _leaves(weight: number): number {
    return this.#full - weight * this.#each;
  }

  _add(weight: number, now: number): void {
    this.#full = Math.max(this.#full, now) + weight * this.#each;
  }

  /** How many milliseconds bring one. */
  get #each(): number {
    return this.rate.per / this.rate.limit;
  }
}

export const createMeter = (rate: ReadRate): Meter =>
  new (rate.burst === undefined ? Window : Bucket)(rate);
