/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Locks between processes and hosts, on Redis or Valkey. Needs Node 20 or later (or a runtime with its modules), and
 * ioredis or node-redis.
 *
 * @module pointsman/redis
 */

export { ClosedError, ReentrancyError, TimeoutError } from '../sync/errors.js';
export type { WaitOptions } from '../sync/options.js';
export type { RedisGuard } from './acquisition.js';
export type { RedisCondition } from './condition.js';
export type { RedisClient } from './connection/client.js';
export { LockLostError, RedisLockError } from './errors.js';
export { fencedSet } from './fenced-set.js';
export type { Durations, RedisMutexMetrics } from './metrics.js';
export type { LockKeysOptions, RedisMutexOptions, TryLockKeysOptions } from './options.js';
export type { HeldLock, WaitingLock } from './query.js';
export { RedisMutex } from './redis-mutex.js';
