/**
 * Numbers and durations as the report and the terminal print them.
 *
 * Invariant: measured figures have at most four significant digits; published figures are printed as published.
 */
import type { Estimate } from '../harness/statistics.js';

const fourDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 });
const allDigits = new Intl.NumberFormat('en-US', { maximumFractionDigits: 20 });

export function describeNumber(value: number): string {
  return fourDigits.format(value);
}

export function describePublished(value: number): string {
  return allDigits.format(value);
}

/** Of one task or call, in microseconds. */
export function describeProcessorTime(microseconds: number): string {
  return `${Number(microseconds.toPrecision(2)).toLocaleString('en-US')} µs`;
}

export function describeRatio(ratio: number): string {
  const digits = ratio >= 100 ? 0 : ratio >= 10 ? 1 : 2;
  return ratio.toFixed(digits);
}

export function describeRatioInterval({ low, high }: Estimate): string {
  return `${describeRatio(low)} to ${describeRatio(high)}`;
}

export function describeInterval({ low, high }: Estimate): string {
  return `${describeNumber(low)} to ${describeNumber(high)}`;
}

export function describeShare(share: number): string {
  return `${(share * 100).toFixed(share >= 0.1 ? 0 : 1)} %`;
}

/** How far a factor is above 1: `3 %`, `150 %`. */
export function describeExcess(factor: number): string {
  const percent = (factor - 1) * 100;
  return `${percent >= 1 ? percent.toFixed(0) : '1'} %`;
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** Formats a duration: `8 s`, `2 min 30 s`, `50 min`, `1 h 5 min`. */
export function describeDuration(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60 && minutes >= 10) return `${Math.round(seconds / 60)} min`;
  if (minutes < 60) return withRest(`${minutes} min`, seconds % 60, 's');
  return withRest(`${Math.floor(minutes / 60)} h`, minutes % 60, 'min');
}

function withRest(whole: string, rest: number, unit: string): string {
  return rest === 0 ? whole : `${whole} ${rest} ${unit}`;
}
