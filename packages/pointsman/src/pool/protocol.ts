/** The records that a host and the workers of its pool send each other. */

import { OWN_KINDS } from '../transport/endpoint.js';

// --- from the host ---

/** Run task `id`: function `a` with the arguments `b` and the optional {@link WireOptions} `c`. */
export const TASK = OWN_KINDS;
/** Stop the running task `id` for the reason `b`. */
export const STOP = OWN_KINDS + 1;
/** Define the inline function `id`; `b` is its {@link Definition}. */
export const DEFINE = OWN_KINDS + 2;

// --- from the worker ---

/** The worker can run the functions named in `b`. */
export const READY = OWN_KINDS + 3;
/** The worker failed to load its module, with the error `b`. */
export const REFUSED = OWN_KINDS + 4;
/** Task `id` began at `a`, ran for `c` milliseconds and returned `b`. */
export const RETURNED = OWN_KINDS + 5;
/** Task `id` began at `a`, ran for `c` milliseconds and threw `b`. */
export const THREW = OWN_KINDS + 6;
/** Task `id` returned the iterator `b`, and runs until the iteration ends: see {@link ITERATED}. */
export const ITERATES = OWN_KINDS + 7;
/** The iteration of task `id` has ended; the task began at `a` and ran for `c` milliseconds. */
export const ITERATED = OWN_KINDS + 8;
/** Whether a record of this kind carries the result of a task, which then fails if the record is unreadable. */
export const carriesResult = (kind: number): boolean => kind >= RETURNED && kind <= ITERATED;
/** Task `id` reports progress `b`. */
export const PROGRESS = OWN_KINDS + 9;
/** The worker asks to be replaced. */
export const RETIRE = OWN_KINDS + 10;
/** An uncaught error `b` that belongs to no task. */
export const UNCAUGHT = OWN_KINDS + 11;
/** The worker holds its Web Lock: see `transport/lock.ts`. */
export const LOCKED = OWN_KINDS + 12;
/** The message that followed task `id` was unreadable. */
export const UNREADABLE = OWN_KINDS + 13;

/** The first message, which the host sends through the worker's own port. */
export const SETUP = 'pointsman.pool.setup';

/** A batch that a worker in a browser sends through its own port. */
export const BATCH = 'pointsman.pool.batch';

/** The settings of a worker. */
export interface Setup {
  /** The module whose functions the worker runs; absent if the worker's own script serves them. */
  readonly module: string | undefined;
  /** The nice value of the thread. */
  readonly nice: number;
  /** Bytes of heap from which the worker asks to be replaced. */
  readonly heap: number | undefined;
}

/** The settings and the shared objects of a worker. */
export interface CompleteSetup extends Setup {
  readonly id: number;
  readonly port: MessagePort;
  /** Memory of the claims and the mailbox; absent where memory cannot be shared. */
  readonly memory: SharedArrayBuffer | undefined;
  /** Whether the worker may receive messages without returning to its event loop. */
  readonly polls: boolean;
  /** Whether the worker may spin for messages. */
  readonly spins: boolean;
}

/** The source text of an inline function. */
export interface Definition {
  readonly source: string;
  /** The names of its captured variables. */
  readonly names: readonly string[];
  readonly values: readonly unknown[];
  /** Whether the worker deletes all earlier definitions first. */
  readonly clear: boolean;
}

/** The options of a task that its worker needs. */
export interface WireOptions {
  /** The latest time at which it may begin, by the clock that all threads share; 0 if it may begin at any time. */
  readonly startBy: number;
  /** Maximum run time in milliseconds; undefined if unbounded. */
  readonly runTimeout: number | undefined;
  /** Whether the caller listens for progress. */
  readonly progress: boolean;
  /** The number of the inline function, if the task has one. */
  readonly inline: number | undefined;
}
