/** What a host and the workers of its pool say to each other. */

import { OWN_KINDS } from '../transport/endpoint.js';

// --- from the host ---

/** Task `id` of function `a`, with the arguments `b`; `c` are its {@link WireOptions} if it has any. */
export const TASK = OWN_KINDS;
/** Task `id`, which runs, shall stop for the reason `b`. */
export const STOP = OWN_KINDS + 1;
/** The function `id` was written in place: its {@link Definition} is `b`. */
export const DEFINE = OWN_KINDS + 2;

// --- from the worker ---

/** It can run tasks of the functions with the names `b`. */
export const READY = OWN_KINDS + 3;
/** It cannot, for the reason `b`. */
export const REFUSED = OWN_KINDS + 4;
/** Task `id`, which began at `a` and ran for `c` milliseconds, has returned `b`. */
export const RETURNED = OWN_KINDS + 5;
/** The same: it has thrown `b`. */
export const THREW = OWN_KINDS + 6;
/** Task `id` has returned the iterator `b`. It is over when that is: see {@link ITERATED}. */
export const ITERATES = OWN_KINDS + 7;
/** Task `id`, which began at `a` and ran for `c` milliseconds, has been iterated over. */
export const ITERATED = OWN_KINDS + 8;
/** Whether the value of a record of this kind settles its task. */
export const isOfResult = (kind: number): boolean => kind >= RETURNED && kind <= ITERATED;
/** Task `id` says that it has come to `b`. */
export const PROGRESS = OWN_KINDS + 9;
/** The worker should be replaced. */
export const RETIRE = OWN_KINDS + 10;
/** An error `b` that nobody waits for. */
export const UNCAUGHT = OWN_KINDS + 11;
/** The worker has its lock, whose release tells of its end. */
export const LOCKED = OWN_KINDS + 12;

/** The first message of all, which the host sends by the worker's own port. */
export const SETUP = 'pointsman.pool.setup';
/** A message that came behind task `id` cannot be read. */
export const UNREADABLE = OWN_KINDS + 13;

/** Batches of a browser's worker, which come by its own port. */
export const BATCH = 'pointsman.pool.batch';

/** What a worker is told when it begins. */
export interface Setup {
  /** The module whose functions it runs; absent if the worker's own script serves them. */
  readonly module: string | undefined;
  /** How much less urgent than the host's thread it is. */
  readonly nice: number;
  /** Bytes of heap after which it asks to be replaced. */
  readonly heap: number | undefined;
}

/** All of it: with what the two share. */
export interface CompleteSetup extends Setup {
  readonly id: number;
  readonly port: MessagePort;
  /** For the claims and the mailbox; absent where memory cannot be shared. */
  readonly memory: SharedArrayBuffer | undefined;
  /** Whether it may receive messages without a return to its event loop, and spin for them. */
  readonly polls: boolean;
  readonly spins: boolean;
}

/** Source text that becomes a function in the worker. */
export interface Definition {
  readonly source: string;
  /** What the source takes from its surroundings. */
  readonly names: readonly string[];
  readonly values: readonly unknown[];
  /** Whether all functions that were defined before are forgotten. */
  readonly clear: boolean;
}

/** What a task asks for beyond its arguments. */
export interface WireOptions {
  /** The latest time at which it may begin, by the clock that all threads share; 0 if it may begin at any time. */
  readonly startBy: number;
  /** Maximum run time in milliseconds; undefined if unbounded. */
  readonly runTimeout: number | undefined;
  /** Whether the caller listens to its progress. */
  readonly progress: boolean;
  /** The number of the function, if it was written in place. */
  readonly inline: number | undefined;
}
