/**
 * `pointsman/bridge`: a worker calls its host, blocking or not, and the host its worker.
 */

export type { CallOptions } from '../transport/call-options.js';
export { type Transferred, transfer } from '../transport/transfer.js';
export type { Codec } from './codec/codec.js';
export {
  bool,
  bytes,
  f64,
  type Infer,
  i32,
  list,
  optional,
  record,
  type Schema,
  string,
} from './codec/struct.js';
export { structured } from './codec/structured.js';
export type { Transport } from './connection.js';
export {
  BridgeClosedError,
  BridgeStateError,
  DeadlockError,
  UnresponsiveError,
} from './errors.js';
export { type Exposed, type ExposeOptions, expose, type WorkerLike } from './host.js';
export type { CallSchema, CallSchemas } from './schemas.js';
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
