/// <reference lib="esnext.disposable" preserve="true" />

/**
 * `pointsman/pool`: a pool of worker threads for work that would block the event loop.
 *
 * @module pointsman/pool
 */

export { ClosedError, QueueFullError, TimeoutError } from '../sync/errors.js';
export type { WaitOptions } from '../sync/options.js';
export { type Transferable, type Transferred, transfer } from '../transport/transfer.js';
export { type TaskContext, task } from './context.js';
export { PoolClosedError, ThreadEndedError } from './errors.js';
export type { Summary } from './histogram.js';
export { type Inline, inline } from './inline.js';
export type { MapOptions } from './map.js';
export type { PoolMetrics } from './metrics.js';
export type { PoolOptions, RunOptions, TerminableWorker } from './options.js';
export type { Delay } from './platform.js';
export { Pool } from './pool.js';
export { serve } from './serve.js';
export type {
  AnyApi,
  ArgumentsOf,
  FunctionOf,
  InputsOf,
  NameOf,
  Proxied,
  ResultOf,
  RunArguments,
} from './types.js';
