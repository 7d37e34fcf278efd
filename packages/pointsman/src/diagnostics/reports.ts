/** What is told: plain data, with nothing in it that keeps anything alive. */

/** A call that holds a primitive, or waits for it. */
export interface Activity {
  /** The name that the primitive is watched by. */
  readonly primitive: string;
  /** What the primitive is: `Mutex`, for example. */
  readonly kind: string;
  /** The method that was called. */
  readonly operation: string;
  /** For how many milliseconds it has held or waited. */
  readonly age: number;
  readonly permits: number;
  /** Which keys, where there are keys, as messages of errors show them. */
  readonly keys?: readonly string[];
  /** The `owner` that the call gave, as messages of errors show it. */
  readonly owner?: string;
  /** The name of the {@link runTask} that called. */
  readonly context?: string;
  /** Who called, the innermost first. */
  readonly stack: readonly string[];
}

/** One primitive, in a {@link Snapshot}. */
export interface PrimitiveSnapshot {
  readonly name: string;
  readonly kind: string;
  /** How many permits there are (for each key), if there is such a number. */
  readonly limit?: number;
  readonly holders: readonly Activity[];
  /** The first that came is first. */
  readonly waiters: readonly Activity[];
}

/** What {@link snapshot} returns. */
export interface Snapshot {
  readonly primitives: readonly PrimitiveSnapshot[];
}

/** One of those who wait for each other. */
export interface DeadlockMember {
  /** The name of its {@link runTask}, if it runs in one. */
  readonly context?: string;
  /** What it holds of that which the member before it waits for: empty if it only stands before it in the queue. */
  readonly holds: readonly Activity[];
  readonly waitsFor: Activity;
}

/** Some who wait for each other: each for what the next one holds, the last for what the first one holds. */
export interface Deadlock {
  readonly members: readonly DeadlockMember[];
}
