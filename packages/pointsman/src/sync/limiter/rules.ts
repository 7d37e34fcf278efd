/**
 * The rules that apply to all requests together, or to one key: a concurrency, rates, and a moment before which nothing
 * may start. Pure: the caller passes the time.
 */

import { checkCount, checkInteger } from '../errors.js';
import { checkOptions } from '../options.js';
import { createMeter, type Meter, type Rate, type ReadRate, readRates } from './rates.js';

/** Limits that apply together: a request starts only if each of them admits its weight. */
export interface Limits {
  /** The maximum total weight of the running requests: an integer from 1 on, or `Infinity`, the default. */
  readonly concurrency?: number | undefined;
  /** How much weight may start per time: one rate, or several that apply together. */
  readonly rate?: Rate | readonly Rate[] | undefined;
}

/**
 * The weight of a request. A number is the weight for each limit. A record has the weights by name, those of the rates
 * and `concurrency`; for a name that it does not contain the weight is 1.
 */
export type Weight = number | { readonly [name: string]: number };

/** Checked limits. An undefined one stays unchanged. */
export interface ReadLimits {
  readonly concurrency: number | undefined;
  readonly rates: readonly ReadRate[] | undefined;
}

const perKeyNames: readonly string[] = ['concurrency', 'rate'];

export function readLimits({ concurrency, rate }: Limits): ReadLimits {
  if (concurrency !== undefined) checkCount('concurrency', concurrency, 1);
  return { concurrency, rates: rate === undefined ? undefined : readRates(rate) };
}

export function readPerKey(limits: Limits = {}): ReadLimits {
  checkOptions(limits, perKeyNames, 'perKey');
  return readLimits(limits);
}

/** Returns the weight for the limit of this name. A request without options weighs 1. */
export const weighs = (weight: Weight | undefined, name: string): number =>
  (typeof weight === 'object' ? weight[name] : weight) ?? 1;

/** Logs a start in the meters that it was taken from, even if the rules have other meters by now. */
export function log(meters: readonly Meter[], weight: Weight | undefined, now: number): void {
  for (const meter of meters) meter.log(weighs(weight, meter.rate.name), now);
}

const none: readonly Meter[] = [];

export class Rules {
  concurrency = Infinity;
  /** Replaced and not modified when the rates change: permits keep the array that they were taken from. */
  meters = none;
  /** The running weight. */
  out = 0;
  /** The moment before which nothing may start. */
  until = -Infinity;

  get rates(): readonly ReadRate[] {
    return this.meters.map(({ rate }) => ({ ...rate }));
  }

  /** Takes over the limits of other rules, from which nothing has started. */
  copy({ concurrency, meters }: Rules): void {
    this.concurrency = concurrency;
    if (meters.length > 0) this.meters = meters.map(({ rate }) => createMeter(rate));
  }

  /**
   * Changes the limits. A rate keeps its log if there was one of the same name and kind. A new rate counts as used up if
   * anything has `started`, because it does not know the earlier starts.
   */
  change({ concurrency, rates }: ReadLimits, now: number, started: boolean): void {
    this.concurrency = concurrency ?? this.concurrency;
    if (rates === undefined) return;
    this.meters = rates.map((rate) => {
      const isBucket = rate.burst !== undefined;
      const same = this.meters.find(
        (meter) => meter.rate.name === rate.name && (meter.rate.burst !== undefined) === isBucket,
      );
      const meter = same ?? createMeter(rate);
      if (same) meter.change(rate, now);
      else if (started) meter._add(meter.max, now);
      return meter;
    });
  }

  /**
   * Returns when a request of this weight may start: `Infinity` as long as that depends on a release or on the log of a
   * start, `NaN` if it never may.
   */
  availableAt(weight: Weight | undefined): number {
    const max = this.concurrency;
    let at = this.until;
    const running = weighs(weight, 'concurrency');
    if (this.out + running > max) at = running > max ? Number.NaN : Infinity;
    for (const meter of this.meters) {
      at = Math.max(at, meter.availableAt(weighs(weight, meter.rate.name)));
    }
    return at;
  }

  /** Returns when the state will be as if nothing had ever started. */
  clearAt(): number {
    if (this.out > 0) return Infinity;
    return this.meters.reduce(
      (at, meter) => Math.max(at, meter.availableAt(meter.max)),
      this.until,
    );
  }

  take(weight: Weight | undefined): void {
    this.out += weighs(weight, 'concurrency');
    for (const meter of this.meters) meter.take(weighs(weight, meter.rate.name));
  }

  /** Throws unless a request of this weight can ever start. */
  check(weight: Weight | undefined, label: string): void {
    const checkOne = (name: string, max: number) => {
      const min = typeof weight === 'object' ? 0 : 1;
      const argument = typeof weight === 'object' ? `weight.${name}` : 'weight';
      checkInteger(label + argument, weighs(weight, name), min, max);
    };
    checkOne('concurrency', this.concurrency);
    for (const meter of this.meters) checkOne(meter.rate.name, meter.max);
  }
}
