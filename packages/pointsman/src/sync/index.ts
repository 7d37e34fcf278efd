/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Coordination inside one event loop. No dependencies; runs in Node 20 and later, Deno, Bun, browsers
 * and workerd.
 */

export { ClosedError, QueueFullError, ReentrancyError, TimeoutError } from './errors.js';
export { KeyedMutex } from './keyed-mutex.js';
export { KeyedSemaphore } from './keyed-semaphore.js';
export type { Clock } from './limiter/clock.js';
export { Limiter } from './limiter/limiter.js';
export type {
  LimiterEvents,
  LimiterLimits,
  LimiterOptions,
  LimiterStats,
  Scheduled,
  StartOptions,
  TryStartOptions,
} from './limiter/options.js';
export type { Rate } from './limiter/rates.js';
export type { Limits, Weight } from './limiter/rules.js';
export {
  type LockOptions,
  Mutex,
  type TryLockOptions,
} from './mutex.js';
export type { WaitOptions } from './options.js';
export type { Permit } from './permit.js';
export type { QueueOptions } from './queue.js';
export { type AcquireOptions, Semaphore, type TryAcquireOptions } from './semaphore.js';
