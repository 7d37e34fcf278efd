/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Who holds what and who waits for it: snapshots, events, deadlocks, locks that are held too long. Nothing is watched before
 * {@link watch} is called on it, and what is not watched costs nothing.
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
