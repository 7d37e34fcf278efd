/**
 * Pointsman at machine distance: coordination between processes and hosts, on Redis or Valkey. Needs
 * Node 20 or later (or a runtime with its modules) and ioredis or node-redis, whichever the program
 * uses already.
 */

export { ClosedError, ReentrancyError, TimeoutError } from '../sync/errors.js';
export type { WaitOptions } from '../sync/queue.js';
export type { RedisCondition } from './condition.js';
export { LockLostError, RedisLockError } from './errors.js';
export { fencedSet } from './fenced-set.js';
export type { RedisGuard } from './guard.js';
export type { Durations, RedisMutexMetrics } from './metrics.js';
export {
  type HeldLock,
  type LockKeysOptions,
  RedisMutex,
  type RedisMutexOptions,
  type TryLockKeysOptions,
  type WaitingLock,
} from './redis-mutex.js';
