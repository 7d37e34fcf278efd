/**
 * What holds for all together, or for one key: how much may be running, how much may start in time, and a moment
 * before which nothing may. Times are told, none is looked up.
 */

import { checkCount, checkInteger } from '../errors.js';
import { checkOptions } from '../options.js';
import { createMeter, type Meter, type Rate, type ReadRate, readRates } from './rates.js';

/** Limits that hold together: whatever starts needs room in each of them. */
export interface Limits {
  /** How much weight may be running at once: an integer from 1 on, or `Infinity`, the default. */
  readonly concurrency?: number | undefined;
  /** How much weight may start in how much time: one rate, or several that hold together. */
  readonly rate?: Rate | readonly Rate[] | undefined;
}

/** A number counts for each limit. A record counts by the names of the rates and `concurrency`, 1 for those that it does not name. */
export type Weight = number | { readonly [name: string]: number };

/** Limits as they have been checked: what is undefined stays as it is. */
export interface ReadLimits {
  readonly concurrency: number | undefined;
  readonly rates: readonly ReadRate[] | undefined;
}

const perKeyNames: ReadonlySet<string> = new Set(['concurrency', 'rate']);

/** Reads the limits among some options. Throws for those that cannot be used. */
export function readLimits({ concurrency, rate }: Limits): ReadLimits {
  if (concurrency !== undefined) checkCount('concurrency', concurrency, 1);
  return { concurrency, rates: rate === undefined ? undefined : readRates(rate) };
}

/** As `readLimits`, for those of each key. */
export function readPerKey(limits: Limits = {}): ReadLimits {
  checkOptions(limits, perKeyNames, 'perKey');
  return readLimits(limits);
}

/** How much a weight counts under a name. Who gave no options weighs 1. */
export const weighs = (weight: Weight | undefined, name: string): number =>
  (typeof weight === 'object' ? weight[name] : weight) ?? 1;

/** What was taken from these has started. They are those from which it was taken, whatever the rules are by now. */
export function log(meters: readonly Meter[], weight: Weight | undefined, now: number): void {
  for (const meter of meters) meter.log(weighs(weight, meter.rate.name), now);
}

const none: readonly Meter[] = [];

export class Rules {
  concurrency = Infinity;
  /** Another array when they change, so that whoever took from them finds them again. */
  meters = none;
  /** How much weight runs. */
  out = 0;
  /** The moment before which nothing may start. */
  until = -Infinity;

  get rates(): readonly ReadRate[] {
    return this.meters.map(({ rate }) => ({ ...rate }));
  }

  /**
   * Goes on with other limits. A rate goes on from what it knows if there was one of the same name and kind;
   * a new one knows nothing of what `started` before, and counts as used up.
   */
  change({ concurrency, rates }: ReadLimits, now: number, started: boolean): void {
    this.concurrency = concurrency ?? this.concurrency;
    if (rates === undefined) return;
    const before = [...this.meters];
    this.meters = rates.map((rate) => {
      const same = before.findIndex(
        (meter) =>
          meter.rate.name === rate.name &&
          (meter.rate.burst === undefined) === (rate.burst === undefined),
      );
      const meter = before.splice(same, +(same >= 0))[0] ?? createMeter(rate);
      if (same >= 0) meter.change(rate, now);
      else if (started) meter._add(meter.most, now);
      return meter;
    });
  }

  /**
   * When something of this weight may start: `Infinity` as long as that depends on what has not come back or is not
   * logged yet, `NaN` if it never may.
   */
  at(weight: Weight | undefined): number {
    const most = this.concurrency;
    let at = this.until;
    const running = weighs(weight, 'concurrency');
    if (this.out + running > most) at = running > most ? Number.NaN : Infinity;
    for (const meter of this.meters) {
      at = Math.max(at, meter.at(weighs(weight, meter.rate.name)));
    }
    return at;
  }

  /** When it will be as if nothing had ever started. */
  clearAt(): number {
    if (this.out > 0) return Infinity;
    return this.meters.reduce((at, meter) => Math.max(at, meter.at(meter.most)), this.until);
  }

  take(weight: Weight | undefined): void {
    this.out += weighs(weight, 'concurrency');
    for (const meter of this.meters) meter.take(weighs(weight, meter.rate.name));
  }

  /** Throws unless something of this weight may ever start. The label is what the message begins with. */
  check(weight: Weight | undefined, label: string): void {
    const one = (name: string, most: number) => {
      const least = typeof weight === 'object' ? 0 : 1;
      const of = typeof weight === 'object' ? `weight.${name}` : 'weight';
      checkInteger(label + of, weighs(weight, name), least, most);
    };
    one('concurrency', this.concurrency);
    for (const meter of this.meters) one(meter.rate.name, meter.most);
  }
}
