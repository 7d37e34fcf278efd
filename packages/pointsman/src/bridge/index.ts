/// <reference lib="esnext.disposable" preserve="true" />

/**
 * `pointsman/bridge`: a worker calls its host, synchronously or asynchronously, and the host calls its worker.
 *
 * @module pointsman/bridge
 */

export { ClosedError, TimeoutError } from '../sync/errors.js';
export type { WaitOptions } from '../sync/options.js';
export { type Transferable, type Transferred, transfer } from '../transport/transfer.js';
export type { WorkerLike } from '../transport/types.js';
export { type ConnectSyncOptions, connectSync } from './connect-sync.js';
export {
  BridgeClosedError,
  BridgeStateError,
  DeadlockError,
  UnresponsiveError,
} from './errors.js';
export { type ApiOf, type Exposed, type ExposeOptions, expose } from './host.js';
export type {
  Answers,
  Asynchronous,
  AsynchronousView,
  Blocking,
  Host,
  HostView,
  Noted,
  Noting,
  Received,
  RemoteIterable,
  Sending,
  Sent,
} from './types.js';
export { type ConnectOptions, connect } from './worker.js';
