/** What a host and the threads of its pool say to each other beside the tasks' arguments and results. */

import type { Offer } from '../bridge/connection.js';

/** What a thread is told when it begins. */
export interface Setup {
  /** The module whose functions it runs; absent if the thread's own script serves them. */
  readonly module: string | undefined;
  /** How much less urgent than the host's thread it is. */
  readonly nice: number;
  /** Bytes of heap after which it asks to be replaced. */
  readonly heap: number | undefined;
}

/** All of it: with what the two share. */
export interface CompleteSetup extends Setup {
  readonly offer: Offer;
  /** Memory for the claims; absent where memory cannot be shared. */
  readonly claims: SharedArrayBuffer | undefined;
}

/** Source text that becomes a function in the thread. */
export interface Definition {
  readonly source: string;
  /** What the source takes from its surroundings. */
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}

/** Added to a function's number: the first of its arguments are {@link Extras}. */
export const EXTENDED = 1 << 28;

/** What comes with the arguments of a task that asks for more than to be run. */
export interface Extras {
  /** Hears of the task's progress. */
  readonly progress?: ((value: unknown) => void) | undefined;
  /** The arguments came by message, as one value. */
  readonly moved?: true | undefined;
  /** The function is one that was written in place: its number, and once for each thread its source. */
  readonly inline?: number | undefined;
  readonly define?: Definition | undefined;
  /** All functions that were defined before are forgotten. */
  readonly anew?: true | undefined;
}
