/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The primitives between processes and hosts, on a store of `pointsman/redis` or `pointsman/host`. Needs Node 20 or later
 * (or a runtime with its modules).
 *
 * @module pointsman/shared
 */

export { ClosedError, QueueFullError, ReentrancyError, TimeoutError } from '../sync/errors.js';
export type { WaitOptions } from '../sync/options.js';
export type { SharedGuard } from './acquisition.js';
export type { SharedCondition } from './condition.js';
export type { RateLimitStoreOptions } from './counters/counters.js';
export {
  type ExpressRateLimitHits,
  type ExpressRateLimitStore,
  expressRateLimitStore,
} from './counters/express.js';
export { type FastifyRateLimitStore, fastifyRateLimitStore } from './counters/fastify.js';
export { LockLostError, StoreError } from './errors.js';
export { Leader } from './leader.js';
export type { CheckResult, RateState } from './limiter/check.js';
export { SharedLimiter } from './limiter/limiter.js';
export type {
  SharedLimiterOptions,
  SharedLimiterStats,
  SharedReserveOptions,
  SharedRunOptions,
  SharedStartOptions,
  TrySharedOptions,
  WhenUnavailable,
} from './limiter/options.js';
export type { SharedPermit } from './limiter/permit.js';
export type { Durations, SharedMutexMetrics } from './metrics.js';
export { SharedMutex } from './mutex.js';
export type {
  AcquireKeysOptions,
  LockKeysOptions,
  SharedMutexOptions,
  SharedOptions,
  SharedSemaphoreOptions,
  StoreOptions,
  TryAcquireKeysOptions,
  TryLockKeysOptions,
} from './options.js';
export type { HeldLock, WaitingLock } from './query.js';
export { SharedRwLock } from './rwlock.js';
export { SharedSemaphore } from './semaphore.js';
export type { Store } from './store.js';
