/** The types of reports. They are plain data and keep no primitive alive. */

/** A call that holds a primitive, or waits for it. */
export interface Activity {
  /** The name of the primitive. */
  readonly primitive: string;
  /** The class of the primitive, such as `Mutex`. */
  readonly kind: string;
  /** The method that was called. */
  readonly operation: string;
  /** Milliseconds for which the call has held or waited. */
  readonly age: number;
  readonly permits: number;
  /** The keys of the call, formatted as in error messages; absent for a primitive without keys. */
  readonly keys?: readonly string[];
  /** The `owner` option of the call, formatted as in error messages. */
  readonly owner?: string;
  /** The name of the {@link runTask} that made the call. */
  readonly context?: string;
  /** The stack of the call, innermost frame first. */
  readonly stack: readonly string[];
}

/** One primitive, in a {@link Snapshot}. */
export interface PrimitiveSnapshot {
  readonly name: string;
  readonly kind: string;
  /** The number of permits, per key if there are keys; absent for primitives without such a number. */
  readonly limit?: number;
  readonly holders: readonly Activity[];
  /** Oldest first. */
  readonly waiters: readonly Activity[];
}

/** What {@link snapshot} returns. */
export interface Snapshot {
  readonly primitives: readonly PrimitiveSnapshot[];
}

/** One call of a {@link Deadlock}. */
export interface DeadlockMember {
  /** The name of its {@link runTask}, if it runs in one. */
  readonly context?: string;
  /** The holds that the previous member waits for; empty if this member is only ahead of it in the queue. */
  readonly holds: readonly Activity[];
  readonly waitsFor: Activity;
}

/** Calls that wait for each other: each waits for the holds of the next one, and the last for those of the first. */
export interface Deadlock {
  readonly members: readonly DeadlockMember[];
}
