/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Coordination inside one event loop. No dependencies; runs in Node 20 and later, Deno, Bun, browsers
 * and workerd.
 *
 * @module pointsman
 */

export { Barrier, type BarrierWaitResult } from './barrier.js';
export { Broadcast, type BroadcastReceiver } from './channel/broadcast.js';
export { Channel, type ChannelOptions } from './channel/channel.js';
export { Watch, type WatchReceiver } from './channel/watch.js';
export {
  ClosedError,
  LaggedError,
  QueueFullError,
  ReentrancyError,
  TimeoutError,
} from './errors.js';

export { KeyedMutex } from './keyed/keyed-mutex.js';
export { KeyedRwLock } from './keyed/keyed-rwlock.js';
export { KeyedSemaphore } from './keyed/keyed-semaphore.js';
export type { Locks } from './keyed/lock-all.js';
export { Latch } from './latch.js';
export type { Clock } from './limiter/clock.js';
export { Limiter } from './limiter/limiter.js';
export type { MapContext, MapOptions } from './limiter/map.js';
export type {
  LimiterLimits,
  LimiterOptions,
  LimiterStats,
  Reservation,
  ReserveOptions,
  RunOptions,
  StartOptions,
  TryStartOptions,
} from './limiter/options.js';
export type { Rate } from './limiter/rates.js';
export { retryAfter } from './limiter/retry-after.js';
export type { Limits, Weight } from './limiter/rules.js';
export type { RunContext } from './limiter/run.js';
export type { Mapped } from './map.js';
export { Condition } from './mutex/condition.js';
export type { LockOptions, TryLockOptions } from './mutex/lock.js';
export { Mutex } from './mutex/mutex.js';
export { Notify } from './notify.js';
export type { WaitOptions } from './options.js';
export { RwLock, type WriteOptions, type WritePermit } from './rwlock/rwlock.js';
export {
  type SelectCase,
  type Selected,
  type SelectOptions,
  type SelectSignal,
  select,
} from './select/select.js';
export type { Permit } from './semaphore/permit.js';
export { type AcquireOptions, Semaphore, type TryAcquireOptions } from './semaphore/semaphore.js';
export type { NameOptions, QueueOptions } from './wait/queue.js';
