/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Shows the holders and waiters of each primitive: snapshots, events, deadlocks, and locks that are held too long. Only
 * primitives passed to {@link watch} are watched; others cost nothing.
 *
 * @module pointsman/diagnostics
 */

export { runTask } from './context.js';
export { type DiagnosticsEvent, type DiagnosticsEvents, on } from './events.js';
export type {
  Activity,
  Deadlock,
  DeadlockMember,
  PrimitiveSnapshot,
  Snapshot,
} from './reports.js';
export { format, snapshot } from './snapshot.js';
export { configure, unwatch, type Watching, type WatchOptions, watch, watched } from './watch.js';
