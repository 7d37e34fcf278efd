/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Coordination inside one event loop. No dependencies; runs in Node 20 and later, Deno, Bun, browsers
 * and workerd.
 *
 * @module pointsman
 */

export { Barrier, type BarrierWaitResult } from './barrier.js';
export { Broadcast, type BroadcastReceiver } from './broadcast.js';
export { Channel, type ChannelOptions } from './channel.js';
export { Condition } from './condition.js';
export {
  ClosedError,
  LaggedError,
  QueueFullError,
  ReentrancyError,
  TimeoutError,
} from './errors.js';

export { KeyedMutex } from './keyed-mutex.js';
export { KeyedRwLock } from './keyed-rwlock.js';
export { KeyedSemaphore } from './keyed-semaphore.js';
export { Latch } from './latch.js';
export type { Clock } from './limiter/clock.js';
export { Limiter } from './limiter/limiter.js';
export type { MapContext, MapOptions, Mapped } from './limiter/map.js';
export type {
  LimiterEvents,
  LimiterLimits,
  LimiterOptions,
  LimiterStats,
  RunOptions,
  Scheduled,
  StartOptions,
  TryStartOptions,
} from './limiter/options.js';
export type { Rate } from './limiter/rates.js';
export { retryAfter } from './limiter/retry-after.js';
export type { Limits, Weight } from './limiter/rules.js';
export type { RunContext } from './limiter/work.js';
export type { Locks } from './lock-all.js';
export {
  type LockOptions,
  Mutex,
  type TryLockOptions,
} from './mutex.js';
export { Notify } from './notify.js';
export type { WaitOptions } from './options.js';
export type { Permit } from './permit.js';
export type { NameOptions, QueueOptions } from './queue.js';
export { RwLock, type WriteOptions, type WritePermit } from './rwlock.js';
export {
  type SelectCase,
  type Selected,
  type SelectOptions,
  type SelectSignal,
  select,
} from './select.js';
export { type AcquireOptions, Semaphore, type TryAcquireOptions } from './semaphore.js';
export { Watch, type WatchReceiver } from './watch.js';
