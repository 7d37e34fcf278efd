/**
 * `pointsman/bridge`: a worker calls its host, blocking or not, and the host its worker.
 */

export type { WaitOptions } from '../sync/options.js';
export { type Transferred, transfer } from '../transport/transfer.js';
export {
  BridgeClosedError,
  BridgeStateError,
  DeadlockError,
  UnresponsiveError,
} from './errors.js';
export { type Exposed, type ExposeOptions, expose, type WorkerLike } from './host.js';
export type {
  Answers,
  Asynchronous,
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
