/** What a limiter is told when it is made, and what a request is told. */

import { checkCount, checkFunction, checkOneOf } from '../errors.js';
import { checkOptions, type WaitOptions } from '../options.js';
import { type QueueOptions, readQueueOptions } from '../wait/queue.js';
import { type Clock, systemClock } from './clock.js';
import type { Limits, Weight } from './rules.js';

/** What {@link Limiter.setLimits} changes. */
export interface LimiterLimits extends Limits {
  /**
   * What holds for each key beside what holds for all together. Requests without a key have all the same one,
   * which is `undefined`.
   */
  readonly perKey?: Limits | undefined;
}

/** What a {@link Limiter} may be told: at least one of `concurrency`, `rate` and `perKey`. */
export interface LimiterOptions extends LimiterLimits, QueueOptions {
  /**
   * What happens to a request that would have to wait while `maxWaiting` wait already:
   * - `'reject'`, the default: it is refused with a {@link QueueFullError}.
   * - `'drop-oldest'`: of the waiting requests of the lowest priority, the one that has waited longest is rejected with a
   *   {@link QueueFullError} to make room; or the new request, if its own priority is lower.
   *
   * To slow a producer down instead, let it await {@link Limiter.waitForSpace}.
   */
  readonly whenFull?: 'reject' | 'drop-oldest' | undefined;
  /**
   * Maximum number of keys: an integer >= 1, or `Infinity`, the default. A request for a new key beyond that is refused
   * with a {@link QueueFullError}; existing keys are not affected.
   * Set it if clients choose the keys.
   */
  readonly maxKeys?: number | undefined;
  /** Where it has its time from. Default: `performance.now()` and the timers of the platform. */
  readonly clock?: Clock | undefined;
}

/** What {@link Limiter.tryAcquire} may be told. */
export interface TryStartOptions {
  /** Whose turn it is. Any value, compared as a `Map` compares keys. */
  readonly key?: unknown;
  /**
   * How much it counts. A number, an integer from 1 on, counts for `concurrency` and for each rate. A record counts
   * by names, those of the rates and `concurrency`, with integers from 0 on, and 1 where it names none:
   * `{ tokens: 1_200 }`. Default 1. What can never start is refused at once with a `RangeError`.
   */
  readonly weight?: Weight | undefined;
  /** Higher priorities start first, equals take turns. Any finite number. Default 0. */
  readonly priority?: number | undefined;
}

/** Options for {@link Limiter.acquire}. */
export interface StartOptions extends WaitOptions, TryStartOptions {}

/** Options for {@link Limiter.run} and {@link Limiter.schedule}. */
export interface RunOptions extends StartOptions {
  /**
   * Bounds the work, from its start, in milliseconds: any number >= 0. When it elapses, the signal passed to the
   * function aborts with a {@link TimeoutError}, the promise rejects with the same error, and the concurrency is
   * released at once, even if the function continues. Default: `Infinity`.
   */
  readonly runTimeout?: number | undefined;
}

/** How many of what there were since the limiter was made. */
export interface LimiterStats {
  /** What was let in. */
  readonly started: number;
  /** What has come back, however it ended. */
  readonly finished: number;
  /** Of those, functions that threw or rejected. */
  readonly failed: number;
  /** Requests refused or rejected because the queue was full, or refused because there were `maxKeys` keys. */
  readonly dropped: number;
  /** What left the queue in another way: by its signal, its timeout, `cancel`, `close` or limits that became too low. */
  readonly cancelled: number;
}

/** What a listener of {@link Limiter.on} is told. */
export interface LimiterEvents {
  /** Something was let in. */
  started: { readonly key: unknown };
  /** Something has come back, however it ended. */
  finished: { readonly key: unknown };
  /** A function threw or rejected. It is told before `finished`. */
  failed: { readonly key: unknown; readonly error: unknown };
  /** A request was refused or rejected because the queue was full, or refused because there were `maxKeys` keys. */
  dropped: { readonly key: unknown };
  /** The last waiting request has left the queue. */
  empty: undefined;
  /** Nothing runs, and no request waits. */
  idle: undefined;
}

/** A function that {@link Limiter.schedule} runs when its turn comes. */
export interface Scheduled<T> {
  /** What the function returned, or why it failed or was never called. */
  readonly result: Promise<T>;
  readonly state: 'waiting' | 'running' | 'done';
  /** Can be changed: it then goes behind those of the same priority. Once it has started it has no effect. */
  priority: number;
  /**
   * Takes it out of the queue; its result rejects with `reason`, by default the platform's `AbortError`. Answers whether
   * it still waited: what has started goes on.
   */
  cancel(reason?: unknown): boolean;
}

/** @internal The names of those that {@link Limiter.setLimits} takes. */
export const limitNames: ReadonlySet<string> = new Set(['concurrency', 'rate', 'perKey']);

const optionNames: ReadonlySet<string> = new Set([
  ...limitNames,
  'name',
  'maxWaiting',
  'maxKeys',
  'whenFull',
  'clock',
]);

/** @internal Reads the options of a limiter; its limits are as they were given. Throws for what cannot be used. */
export function readLimiterOptions(options: LimiterOptions) {
  checkOptions(options, optionNames);
  const { whenFull = 'reject', maxKeys = Infinity, clock = systemClock, name, ...limits } = options;
  const { concurrency, rate, perKey, maxWaiting } = limits;
  const { label, maxWaiting: most } = readQueueOptions({ name, maxWaiting });
  if (concurrency === undefined && rate === undefined && perKey === undefined) {
    throw new TypeError('options must have at least one of concurrency, rate and perKey');
  }
  checkOneOf('whenFull', whenFull, ['reject', 'drop-oldest']);
  checkCount('maxKeys', maxKeys, 1);
  for (const method of ['now', 'setTimeout', 'clearTimeout'] as const) {
    checkFunction(`clock.${method}`, clock?.[method]);
  }
  return { label, most, maxKeys, whenFull, clock, limits };
}
