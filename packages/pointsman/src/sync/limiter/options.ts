/** The options of a limiter and of its requests. */

import { checkCount, checkFunction, checkOneOf } from '../errors.js';
import { checkOptions, type WaitOptions } from '../options.js';
import type { Permit } from '../semaphore/permit.js';
import { type QueueOptions, readQueueOptions } from '../wait/queue.js';
import { type Clock, systemClock } from './clock.js';
import type { Limits, Weight } from './rules.js';

/** The limits that {@link Limiter.setLimits} changes. */
export interface LimiterLimits extends Limits {
  /**
   * Limits for each key, in addition to those for all requests together. All requests without a key share one key,
   * `undefined`.
   */
  readonly perKey?: Limits | undefined;
}

/** Options for the constructor of {@link Limiter}: at least one of `concurrency`, `rate` and `perKey`. */
export interface LimiterOptions extends LimiterLimits, QueueOptions {
  /**
   * What happens to a request that would have to wait while `maxWaiting` requests wait:
   * - `'reject'`, the default: it is refused with a {@link QueueFullError}.
   * - `'drop-oldest'`: of the waiting requests of the lowest priority, the one that has waited longest is rejected with a
   *   {@link QueueFullError} to make space; or the new request, if its own priority is lower.
   *
   * To slow a producer down instead, let it await {@link Limiter.waitForSpace}.
   */
  readonly whenFull?: 'reject' | 'drop-oldest' | undefined;
  /**
   * Maximum number of keys: an integer from 1 on, or `Infinity`, the default. A request for a new key beyond that is
   * refused with a {@link QueueFullError}; existing keys are not affected. Set it if clients choose the keys.
   */
  readonly maxKeys?: number | undefined;
  /** The source of the time. Default: `performance.now()` and the timers of the platform. */
  readonly clock?: Clock | undefined;
}

/** Options for {@link Limiter.tryAcquire}. */
export interface TryStartOptions {
  /** The key of the request: any value, compared as a `Map` compares keys. */
  readonly key?: unknown;
  /**
   * The weight of the request. A number, an integer from 1 on, is the weight for `concurrency` and for each rate. A
   * record has weights by name, those of the rates and `concurrency`: integers from 0 on, and 1 for a name that it does
   * not contain. Example: `{ tokens: 1_200 }`. Default: 1. A request that can never start is refused with a `RangeError`.
   */
  readonly weight?: Weight | undefined;
  /** Higher priorities start first. Any finite number. Default: 0. */
  readonly priority?: number | undefined;
}

/** Options for {@link Limiter.acquire}. */
export interface StartOptions extends WaitOptions, TryStartOptions {}

/** Options for {@link Limiter.reserve}. */
export interface ReserveOptions extends WaitOptions, Omit<TryStartOptions, 'weight'> {}

/** The permit of a request whose weight was estimated, as {@link Limiter.reserve} grants it. */
export interface Reservation extends Permit {
  /**
   * Corrects the weight. What was reserved too much comes back at once; what was reserved too little counts from now on,
   * even beyond the limit, and the next requests wait for it. A further call corrects the earlier one.
   *
   * @throws {RangeError | TypeError} unless `actual` is an integer from 0 on, or a record of them by the names of rates.
   */
  settle(actual: Weight): void;
}

/** Options for {@link Limiter.run}. */
export interface RunOptions extends StartOptions {
  /**
   * Bounds the work, from its start, in milliseconds: any number from 0 on. When it elapses, the signal passed to the
   * function aborts with a {@link TimeoutError}, the promise rejects with the same error, and the concurrency is
   * released at once, even if the function continues. Default: `Infinity`.
   */
  readonly runTimeout?: number | undefined;
}

/** Counters since the limiter was created. */
export interface LimiterStats {
  /** Requests that have started. */
  readonly started: number;
  /** Requests that have started and finished, with or without an error. */
  readonly finished: number;
  /** Of the finished ones, the functions that threw or rejected. */
  readonly failed: number;
  /** Requests refused or rejected because the queue was full, or refused because there were `maxKeys` keys. */
  readonly dropped: number;
  /** Waiting requests rejected for another reason: a signal, a timeout, `cancel`, `close`, or a limit below their weight. */
  readonly cancelled: number;
}

export const tryNames: readonly string[] = ['key', 'weight', 'priority'];
export const startNames: readonly string[] = [...tryNames, 'signal', 'timeout'];
export const reserveNames: readonly string[] = ['key', 'priority', 'signal', 'timeout'];
export const runNames: readonly string[] = [...startNames, 'runTimeout'];
export const limitNames: readonly string[] = ['concurrency', 'rate', 'perKey'];

const optionNames: readonly string[] = [
  ...limitNames,
  'name',
  'maxWaiting',
  'maxKeys',
  'whenFull',
  'clock',
];

export type ReadLimiterOptions = ReturnType<typeof readLimiterOptions>;

/** Reads the options, but not the limits. */
export function readLimiterOptions(options: LimiterOptions) {
  checkOptions(options, optionNames);
  const { whenFull = 'reject', maxKeys = Infinity, clock = systemClock, name, ...limits } = options;
  const { concurrency, rate, perKey, maxWaiting } = limits;
  const { label, maxWaiting: max } = readQueueOptions({ name, maxWaiting });
  if (concurrency === undefined && rate === undefined && perKey === undefined) {
    throw new TypeError('options must have at least one of concurrency, rate and perKey');
  }
  checkOneOf('whenFull', whenFull, ['reject', 'drop-oldest']);
  checkCount('maxKeys', maxKeys, 1);
  for (const method of ['now', 'setTimeout', 'clearTimeout'] as const) {
    checkFunction(`clock.${method}`, clock?.[method]);
  }
  return { label, max, maxKeys, whenFull, clock, limits };
}
