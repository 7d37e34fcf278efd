/**
 * The log of the starts of one rate of a limiter, and the rules by which they use up the rate. Times are microseconds.
 *
 * Invariants:
 * - Every entry of a log counts, also one in the future.
 * - A log has at most about 200 entries: entries of one part of the window (a 64th) are one, with the time of the latest.
 *   A limit up to 64 is exact; of a higher one at least 63/64 can be used.
 */

/** A rate in the protocol: `per` in whole microseconds. */
export interface StartRate {
  readonly name: string;
  readonly limit: number;
  readonly per: number;
  /** The size of a token bucket; 0 for a sliding window. */
  readonly burst: number;
}

/** The starts of a rate. */
export interface RateLog {
  readonly name: string;
  per: number;
  /** Of a bucket: if it is changed, the bucket lacks as much as before. Of a window, 0. */
  limit: number;
  readonly isBucket: boolean;
  /** Of a window, the time of the latest forgotten start, or 0; of a bucket, the time at which it is full. */
  edge: number;
  /** The total of `weights`. */
  total: number;
  /**
   * Pairs of a time and a weight, in the order of the times. Of a bucket, one: the time of the last start that found it
   * full, and the least time that it missed to be full at a later start.
   */
  times: number[];
  weights: number[];
}

/** The number of parts of a window. */
const PARTS = 64;
/** The largest weight that fits into the text of a state. */
const MAX_WEIGHT = 10 ** 15 - 1;
/** The latest time that fits into the text of a state, in the year 2255. Every start is earlier. */
export const LATEST = 9e15;
/** An edge is rounded up by less than this. */
const ROUNDED = 0.25;

/** The time in which a bucket gets a weight. */
export const spanOf = ({ per, limit }: { per: number; limit: number }, weight: number): number =>
  (weight * per) / limit;

/** The time of the last start that found a bucket full. */
const fullAt = ({ times, edge }: RateLog): number => times[0] ?? edge;

/**
 * Returns the total weight that was taken from a bucket since a start found it full. It is a whole number, unless the
 * rate has changed or a weight was given back, so the roundings of many starts do not add up.
 */
function takenOf(log: RateLog, rate: StartRate): number {
  const span = log.edge - fullAt(log);
  const taken = span / spanOf(rate, 1);
  const whole = Math.floor(taken + 1e-6);
  return span - spanOf(rate, whole) <= ROUNDED ? whole : taken;
}

export function setTaken(log: RateLog, rate: StartRate, taken: number): void {
  const span = Math.ceil(spanOf(rate, taken) / ROUNDED) * ROUNDED;
  log.edge = Math.min(fullAt(log) + span, LATEST);
  // A fraction of a weight must not be taken for the rounding of a whole number.
  if (takenOf(log, rate) < taken) log.edge += 2 * ROUNDED;
}

/** The time from which no entry of the log counts. */
export function clearAt({ isBucket, edge, per, times }: RateLog): number {
  if (isBucket) return edge;
  const last = times.at(-1) ?? edge;
  return last > 0 ? Math.max(last, edge) + per : 0;
}

/** Forgets the starts of a window up to a time. */
export function forget(log: RateLog, until: number): void {
  let gone = 0;
  while (gone < log.times.length && (log.times[gone] as number) <= until) {
    log.edge = Math.max(log.edge, log.times[gone] as number);
    log.total -= log.weights[gone] as number;
    gone++;
  }
  log.times.splice(0, gone);
  log.weights.splice(0, gone);
}

/** Whether two times are in one part of the window. */
function isTogether({ limit, per }: StartRate, one: number, other: number): boolean {
  if (limit <= PARTS) return one === other;
  return Math.ceil((one * PARTS) / per) === Math.ceil((other * PARTS) / per);
}

export function add(log: RateLog, rate: StartRate, weight: number, at: number): void {
  if (weight === 0) return;
  if (log.isBucket) {
    const missing = log.edge - at;
    let taken = 0;
    if (missing > 0) {
      taken = takenOf(log, rate);
      log.weights[0] = Math.min(log.weights[0] as number, Math.floor(missing));
    } else {
      log.times[0] = at;
      log.weights[0] = MAX_WEIGHT;
    }
    setTaken(log, rate, taken + weight);
    return;
  }
  const { times, weights } = log;
  let i = times.length;
  while (i > 0 && (times[i - 1] as number) > at) i--;
  if (i > 0 && isTogether(rate, times[i - 1] as number, at)) {
    i--;
    times[i] = at;
  } else if (i === times.length || !isTogether(rate, times[i] as number, at)) {
    times.splice(i, 0, at);
    weights.splice(i, 0, 0);
  }
  const before = weights[i] as number;
  weights[i] = Math.min(before + weight, MAX_WEIGHT);
  log.total += (weights[i] as number) - before;
}

/** Returns a weight that was logged with this time. A forgotten entry, or one merged into another time, stays. */
export function remove(log: RateLog, rate: StartRate, weight: number, at: number): void {
  if (log.isBucket) {
    if (log.times.length === 0 || at < (log.times[0] as number)) return;
    // Without that start it would have been full at the moment at which the least was missing; more is lost.
    const least = log.weights[0] as number;
    const credit = Math.min(weight, least / spanOf(rate, 1));
    log.weights[0] = Math.max(0, least - Math.ceil(spanOf(rate, weight)));
    setTaken(log, rate, Math.max(0, takenOf(log, rate) - credit));
    return;
  }
  const { times, weights } = log;
  const i = times.findIndex((time) => time >= at);
  if (i < 0 || !isTogether(rate, times[i] as number, at)) return;
  const left = Math.max(0, (weights[i] as number) - weight);
  log.total -= (weights[i] as number) - left;
  weights[i] = left;
  if (left > 0) return;
  times.splice(i, 1);
  weights.splice(i, 1);
}

/** Returns the first moment, not before `at`, at which this weight fits; Infinity if there is none. */
export function availableAt(log: RateLog, rate: StartRate, weight: number, at: number): number {
  if (weight === 0) return at;
  const { limit, per, burst } = rate;
  if (weight > (burst || limit)) return Number.POSITIVE_INFINITY;
  if (log.isBucket) {
    const late = takenOf(log, rate) + weight - burst;
    return Math.max(at, fullAt(log) + Math.ceil(spanOf(rate, late)));
  }
  let first = log.edge > 0 ? Math.max(at, log.edge + per) : at;
  let left = log.total;
  for (let i = 0; left + weight > limit; i++) {
    left -= log.weights[i] as number;
    first = Math.max(first, (log.times[i] as number) + per);
  }
  return first;
}

/** Returns how much of a rate is left at the key's time. */
export function remainingOf(log: RateLog, rate: StartRate, time: number): number {
  const { limit, per, burst } = rate;
  if (log.isBucket) {
    if (log.edge <= time) return burst;
    const refilled = (time - fullAt(log)) / spanOf(rate, 1);
    return Math.max(Math.floor(burst - takenOf(log, rate) + refilled), 0);
  }
  if (log.edge > 0 && log.edge + per > time) return 0;
  let used = log.total;
  for (let i = 0; i < log.times.length && (log.times[i] as number) <= time - per; i++) {
    used -= log.weights[i] as number;
  }
  return Math.max(limit - used, 0);
}
