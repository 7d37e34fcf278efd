/**
 * The starts of a shared limiter: when the next one may be, and what the earlier ones still use up. Pure: the caller
 * passes the store's clock. All times are microseconds.
 *
 * Law: of the starts that were granted, no window of `per` contains more than `limit`; with `burst`, no interval of `t`
 * contains more than `burst + limit * t / per`.
 *
 * Invariants:
 * - The moments of one key's starts do not decrease. So the next start needs only the log up to the last of them.
 * - A start is logged with its own moment or a later one, and everything in the log counts, also what lies ahead. A start
 *   of a lease is logged with the end of the lease.
 * - The time of a key does not go back when the store's clock does; it continues from where it was.
 * - A refused start uses up nothing.
 */

import {
  add,
  availableAt,
  clearAt,
  forget,
  LATEST,
  type RateLog,
  remainingOf,
  remove,
  type StartRate,
  setTaken,
  spanOf,
} from './rate-log.js';

/** The state of one limiter, or of one key of it. */
export interface StartsState {
  /** The key's time when it was last written. */
  seen: number;
  /** How far the key's time is ahead of the store's clock, which has gone back by this much in all. */
  offset: number;
  /** The moment of the last start; the next one is not earlier. */
  last: number;
  /** The moment before which nothing may start. */
  until: number;
  /** When the store's clock has passed it, the state is that of a key that was never used. */
  expires: number;
  logs: RateLog[];
}

/** The rates that a start is taken from, and its weight in each of them. */
export interface StartGroup {
  /** The name of a limiter, or of a key of it. */
  readonly limiter: string;
  readonly rates: readonly StartRate[];
  readonly weights: readonly number[];
}

/** A start, as far as the rates are concerned. */
export interface StartRequest {
  /** All of them have to admit the start; only the first may delay it. Those without rates, the last, have only penalties. */
  readonly groups: readonly StartGroup[];
  /** The longest delay that is of use, or -1 if any is. */
  readonly within: number;
  /** Takes up to `count` starts now, to be used within `time`; fewer if not all of them are available now. */
  readonly count: number;
  readonly time: number;
  /** Whether the answer is only what it would be. */
  readonly look: boolean;
}

export interface StartResult {
  readonly name: 'start';
  readonly granted: boolean;
  /** Until the start; of one that is refused, until it could be granted, or -1 for never. */
  readonly delay: number;
  /** For each group, the moment with which it is logged, which identifies it for a correction. */
  readonly at: readonly number[];
  /** The number of starts. */
  readonly count: number;
  /** If these are fewer than wanted, until one more is possible. */
  readonly next: number;
  /** The index of the group that delays it. */
  readonly by: number;
  /** What is left now of each rate, in the order of the groups. */
  readonly remaining: readonly number[];
  /** Until all of each rate is left. */
  readonly reset: readonly number[];
}

/** A start that would wait for longer is refused if an earlier one of its batch does, so that the keys of a process take turns. */
export const AHEAD = 50_000;
/** The number of rates that a key remembers beyond those in use. */
const MAX_LOGS = 16;

const newState = (): StartsState => ({
  seen: 0,
  offset: 0,
  last: 0,
  until: 0,
  expires: 0,
  logs: [],
});

/** A key at a moment. */
class View {
  readonly limiters: Map<string, StartsState>;
  readonly limiter: string;
  readonly now: number;
  readonly state: StartsState;
  readonly time: number;
  /** Whether it has to be stored even if nothing starts. */
  isChanged = false;

  constructor(limiters: Map<string, StartsState>, limiter: string, now: number) {
    this.limiters = limiters;
    this.limiter = limiter;
    this.now = now;
    const stored = limiters.get(limiter);
    this.state = stored === undefined || stored.expires <= now ? newState() : stored;
    this.time = Math.max(now + this.state.offset, this.state.seen);
  }

  logsOf(rates: readonly StartRate[]): RateLog[] {
    const wasUsed = this.state.logs.length > 0;
    return rates.map((rate) => this.#find(rate) ?? this.#add(rate, wasUsed));
  }

  #find(rate: StartRate): RateLog | undefined {
    const { name, per, limit, burst } = rate;
    const isBucket = burst > 0;
    const log = this.state.logs.find(
      (each) => each.name === name && each.isBucket === isBucket && (isBucket || each.per === per),
    );
    if (log !== undefined && isBucket && (log.limit !== limit || log.per !== per)) {
      // A start may be logged with a later moment, before which the bucket was full.
      const from = Math.max(this.time, log.times[0] ?? 0);
      const missing = Math.max(log.edge - from, 0) / spanOf(log, 1);
      // In the new interval it is unknown.
      log.times = [from];
      log.weights = [0];
      setTaken(log, rate, missing);
      log.limit = limit;
      log.per = per;
      this.isChanged = true;
    }
    return log;
  }

  #add(rate: StartRate, wasUsed: boolean): RateLog {
    const { name, per, burst } = rate;
    const { logs } = this.state;
    const isBucket = burst > 0;
    const limit = isBucket ? rate.limit : 0;
    const other = logs.filter((each) => each.name === name && each.isBucket === isBucket).at(-1);
    const log: RateLog = {
      name,
      per,
      limit,
      isBucket,
      edge: other?.edge ?? 0,
      total: 0,
      times: [],
      weights: [],
    };
    if (other !== undefined) {
      // The same rate with another window: what was forgotten may still be in a longer one.
      for (const [i, at] of other.times.entries()) add(log, rate, other.weights[i] as number, at);
    } else if (wasUsed) {
      // It does not know the earlier starts, so it counts as used up.
      add(log, rate, burst || rate.limit, this.time);
    }
    logs.push(log);
    this.isChanged = true;
    return log;
  }

  /** Stores the state without the entries that no longer count. */
  store(): void {
    const { limiters, limiter, state, time, now } = this;
    for (const log of state.logs) {
      if (!log.isBucket) forget(log, Math.max(time, state.last - log.per) - log.per);
    }
    state.offset = time - now;
    state.seen = time;
    state.expires = Infinity;
    limiters.set(limiter, state);
  }

  /** Says when the state has expired, at the end of a batch. */
  tidy(): void {
    const { limiters, limiter, state, time, now } = this;
    let clear = Math.max(state.last, state.until);
    if (state.logs.length > MAX_LOGS) {
      state.logs = state.logs.filter((log) => clearAt(log) > time);
    }
    for (const log of state.logs) clear = Math.max(clear, clearAt(log));
    state.expires = now + Math.ceil(clear - time);
    // Moves to the end: `sweepStarts` looks at the others first.
    limiters.delete(limiter);
    if (state.expires > now) limiters.set(limiter, state);
  }
}

/** The starts of one batch. `end` has to be called after the last of them. */
export class Starts {
  readonly #limiters: Map<string, StartsState>;
  readonly #now: number;
  /** The limiters at which an earlier start of the batch has to wait. */
  readonly #delayed = new Set<string>();
  /** The keys of the batch. */
  readonly #views = new Map<string, View>();

  constructor(limiters: Map<string, StartsState>, now: number) {
    this.#limiters = limiters;
    this.#now = now;
  }

  start({ groups, within, count, time, look }: StartRequest): StartResult {
    const parts = groups.map((group) => this.#read(group));
    const by = parts.reduce((by, { delay }, i) => (delay > (parts[by] as Part).delay ? i : by), 0);
    const { delay } = parts[by] as Part;
    const isBehind = delay > AHEAD && groups.some(({ limiter }) => this.#delayed.has(limiter));
    // A key may not reserve a moment of all keys that is later than the first that is left.
    const isReserved = by === 0 || delay === 0;
    const isInTime = delay < Infinity && (within < 0 || delay <= within);
    const granted = isInTime && isReserved && !isBehind;
    let taken = granted ? 1 : 0;
    const at: number[] = [];
    let next = 0;
    if (granted && !look) {
      if (delay === 0) taken = parts.reduce((most, part) => countOf(part, most), count);
      for (const { view, rates, weights, logs } of parts) {
        const start = view.time + delay;
        const counted = taken > 1 ? start + time : start;
        for (const [i, rate] of rates.entries()) {
          add(logs[i] as RateLog, rate, (weights[i] as number) * taken, counted);
        }
        if (rates.length > 0) {
          view.state.last = Math.max(view.state.last, start);
          view.isChanged = true;
        }
        at.push(counted);
      }
      if (delay > AHEAD) for (const { limiter } of groups) this.#delayed.add(limiter);
      if (taken < count) next = Math.min(Math.max(...parts.map((part) => delayOf(part))), LATEST);
    }
    for (const { view } of parts) if (view.isChanged) view.store();
    return {
      name: 'start',
      granted,
      delay: delay < Infinity ? delay : -1,
      at,
      count: taken,
      next,
      by,
      remaining: parts.flatMap(({ view: { state, time }, rates, logs }) => {
        const isAhead = Math.max(state.last, state.until) > time;
        return rates.map((rate, i) => (isAhead ? 0 : remainingOf(logs[i] as RateLog, rate, time)));
      }),
      reset: parts.flatMap(({ view: { state, time }, logs }) =>
        logs.map((log) => Math.max(0, Math.ceil(Math.max(clearAt(log), state.until) - time))),
      ),
    };
  }

  #read({ limiter, rates, weights }: StartGroup): Part {
    const view = this.#view(limiter);
    const part = { view, rates, weights, logs: view.logsOf(rates) };
    return { ...part, delay: delayOf(part) };
  }

  #view(limiter: string): View {
    let view = this.#views.get(limiter);
    if (view === undefined) {
      view = new View(this.#limiters, limiter, this.#now);
      this.#views.set(limiter, view);
    }
    return view;
  }

  end(): void {
    for (const view of this.#views.values()) if (view.isChanged) view.tidy();
  }

  /** Adds weights now, or gives those back that are negative and were logged with the moments `at` of the groups. */
  correct(groups: readonly StartGroup[], at: readonly number[]): void {
    for (const [g, { limiter, rates, weights }] of groups.entries()) {
      const view = this.#view(limiter);
      const { state } = view;
      const logs = view.logsOf(rates);
      const moment = at[g] as number;
      for (const [i, rate] of rates.entries()) {
        const weight = weights[i] as number;
        if (weight < 0) remove(logs[i] as RateLog, rate, -weight, moment);
        else add(logs[i] as RateLog, rate, weight, view.time);
      }
      if (state.last === moment) {
        // If that start was the last one, the next one may be earlier.
        const times = state.logs.flatMap((log) => (log.isBucket ? [] : log.times));
        state.last = Math.max(0, ...times.filter((time) => time <= moment));
      }
      view.isChanged = true;
      view.store();
    }
  }

  /** Nothing starts for this time. */
  penalize(limiter: string, time: number): void {
    const view = this.#view(limiter);
    view.state.until = Math.min(Math.max(view.state.until, view.time + time), LATEST);
    view.isChanged = true;
    view.store();
  }
}

interface Part {
  readonly view: View;
  readonly rates: readonly StartRate[];
  readonly weights: readonly number[];
  readonly logs: readonly RateLog[];
  readonly delay: number;
}

/** Returns when one start may be. */
function delayOf({ view, rates, weights, logs }: Omit<Part, 'delay'>): number {
  let at = Math.max(view.time, view.state.last, view.state.until);
  for (const [i, rate] of rates.entries()) {
    at = availableAt(logs[i] as RateLog, rate, weights[i] as number, at);
  }
  return at >= LATEST ? Number.POSITIVE_INFINITY : at - view.time;
}

/** Returns how many starts, up to `most`, fit at once. One does. */
function countOf({ view, rates, weights, logs }: Part, most: number): number {
  let count = most;
  rates.forEach((rate, i) => {
    const log = logs[i] as RateLog;
    const weight = weights[i] as number;
    if (weight === 0) return;
    const left = Math.floor(remainingOf(log, rate, view.time) / weight);
    count = Math.max(1, Math.min(count, left));
  });
  return count;
}

/** Removes up to `count` expired states of those that were not used for longest, and looks at others the next time. */
export function sweepStarts(limiters: Map<string, StartsState>, now: number, count = 2): void {
  for (let i = 0; i < count; i++) {
    const [first] = limiters;
    if (first === undefined) return;
    const [limiter, state] = first;
    limiters.delete(limiter);
    if (state.expires > now) limiters.set(limiter, state);
  }
}
