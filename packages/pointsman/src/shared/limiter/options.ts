/**
 * The options of a shared limiter and of its requests, and their checks.
 *
 * Invariant: a request with bad input is refused before anything is sent or queued.
 */

import { checkCount, checkInteger, checkOneOf, invalid } from '../../sync/errors.js';
import type { LimiterLimits, LimiterStats } from '../../sync/limiter/options.js';
import type { ReadRate } from '../../sync/limiter/rates.js';
import { type ReadLimits, readLimits, readPerKey, type Weight } from '../../sync/limiter/rules.js';
import {
  checkOptions,
  checkTimeout,
  checkWaitOptions,
  type WaitOptions,
} from '../../sync/options.js';
import { isTorn } from '../options.js';
import type { StartRate } from '../protocol/rate-log.js';

/** What a limiter does with a request about which the store has not decided in time. */
export type WhenUnavailable = 'refuse' | 'allow' | 'share';

/** Options for the constructor of {@link SharedLimiter}: at least one of `concurrency`, `rate` and `perKey`. */
export interface SharedLimiterOptions extends LimiterLimits {
  /**
   * Maximum number of requests of this process that have not started, an integer from 1 on; a further one is refused
   * with a `QueueFullError`. Default: `Infinity`.
   */
  readonly maxWaiting?: number | undefined;
  /**
   * The number of starts that a process takes in advance for a key, an integer from 1 to 1000000: it then starts that many
   * requests of weight 1 without the store. Starts that are not used within 1/128 of the shortest window, at most 1 second,
   * are returned. It has no effect with a window below 128 ms or with a concurrency, where each request takes a
   * round trip anyway. The store decides about each request of a key that has had fewer than three requests within about the
   * time of a lease. Default 1.
   */
  readonly lease?: number | undefined;
  /**
   * Maximum milliseconds that a request waits for a decision of the store, any number above 0. A wait that the store has
   * decided on, for a start time or for concurrency, does not count. Default 1000.
   */
  readonly deadline?: number | undefined;
  /**
   * What happens if the store has not decided by the `deadline`, or refuses:
   * - `'refuse'`, the default: the request rejects with a {@link StoreError}.
   * - `'allow'`: it starts.
   * - `'share'`: this process applies the limits by itself, divided by the number of processes that it last saw, but at
   *   least 1 each.
   */
  readonly whenUnavailable?: WhenUnavailable | undefined;
}

/** Counters since the limiter was created, of this process. */
export interface SharedLimiterStats extends LimiterStats {
  /** Requests that the store has not decided in time, or could not decide. */
  readonly undecided: number;
  /** Batches sent to the store, including heartbeats. */
  readonly batches: number;
}

/** Options for {@link SharedLimiter.tryAcquire}. */
export interface TrySharedOptions {
  /** The key of the request, a string. All requests without a key share one. */
  readonly key?: string | undefined;
  /**
   * The weight of the request, an integer from 1 up to the lowest limit, or a record of integers from 0 on by the names of
   * the rates and `concurrency`. Default: 1.
   */
  readonly weight?: Weight | undefined;
}

/** Options for {@link SharedLimiter.acquire}. */
export interface SharedStartOptions extends WaitOptions, TrySharedOptions {}

/** Options for {@link SharedLimiter.run}. */
export interface SharedRunOptions extends SharedStartOptions {
  /** Maximum milliseconds for the work, any number from 0 on. Default: `Infinity`. */
  readonly runTimeout?: number | undefined;
}

/** Options for {@link SharedLimiter.reserve}. */
export interface SharedReserveOptions extends WaitOptions {
  /** The key of the request, a string. All requests without a key share one. */
  readonly key?: string | undefined;
}

export const tryNames: readonly string[] = ['key', 'weight'];
export const startNames: readonly string[] = [...tryNames, 'signal', 'timeout'];
export const runNames: readonly string[] = [...startNames, 'runTimeout'];
export const reserveNames: readonly string[] = ['key', 'signal', 'timeout'];
const limitNames: readonly string[] = ['concurrency', 'rate', 'perKey'];
const optionNames: readonly string[] = [
  ...limitNames,
  'maxWaiting',
  'lease',
  'deadline',
  'whenUnavailable',
];

/** The texts of the state have room for totals of these. */
export const MAX_LIMIT = 10 ** 11;
/** That of a `SharedSemaphore`. */
const MAX_CONCURRENCY = 2 ** 31 - 1;
/** A leap year. */
const MAX_PER = 366 * 86_400_000;
const MAX_NAME = 1_000;

export function checkText(name: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME || isTorn(value)) {
    throw invalid(name, value, `a non-empty, well-formed string of at most ${MAX_NAME} characters`);
  }
}

/** The rates of all requests together and of each key. An undefined one stays unchanged. */
export interface SharedLimits {
  readonly all: ReadLimits;
  readonly perKey: ReadLimits;
}

function checkRates(limits: ReadLimits): ReadLimits {
  for (const { limit, per, burst } of limits.rates ?? []) {
    checkInteger('rate.limit', limit, 1, MAX_LIMIT);
    if (burst !== undefined) checkInteger('rate.burst', burst, 1, MAX_LIMIT);
    if (per > MAX_PER) throw invalid('rate.per', per, `at most ${MAX_PER} ms`, 'number');
  }
  const { concurrency = Infinity } = limits;
  if (concurrency < Infinity) checkInteger('concurrency', concurrency, 1, MAX_CONCURRENCY);
  return limits;
}

export function readSharedLimits(limits: LimiterLimits): SharedLimits {
  checkOptions(limits, limitNames, 'limits');
  return { all: checkRates(readLimits(limits)), perKey: checkRates(readPerKey(limits.perKey)) };
}

/** Returns rates as they travel. */
export const travelling = (rates: readonly ReadRate[]): readonly StartRate[] =>
  rates.map(({ name, limit, per, burst = 0 }) => ({
    name,
    limit,
    per: Math.ceil(per * 1000),
    burst,
  }));

export function readSharedOptions(options: SharedLimiterOptions) {
  checkOptions(options, optionNames);
  const {
    maxWaiting = Infinity,
    lease = 1,
    deadline = 1_000,
    whenUnavailable = 'refuse',
  } = options;
  const { concurrency, rate, perKey } = options;
  const limits = readSharedLimits({ concurrency, rate, perKey });
  if (concurrency === undefined && rate === undefined && perKey === undefined) {
    throw new TypeError('options must have at least one of concurrency, rate and perKey');
  }
  checkCount('maxWaiting', maxWaiting, 1);
  checkInteger('lease', lease, 1, 1_000_000);
  if (!(typeof deadline === 'number' && deadline > 0)) {
    throw invalid('deadline', deadline, 'a number of milliseconds above 0', 'number');
  }
  checkOneOf('whenUnavailable', whenUnavailable, ['refuse', 'allow', 'share']);
  return { maxWaiting, lease, deadline, whenUnavailable, limits };
}

/** Checks the options of a request. Weights are checked against the limits by the caller. */
export function checkRequest(options: SharedRunOptions, names: readonly string[]): void {
  checkWaitOptions(options, names);
  checkTimeout(options.runTimeout, 'runTimeout');
  if (options.key !== undefined) checkText('key', options.key);
}
