/** A row of the matrix. The full and the short form run the same code with different numbers. */
import type { Outcome } from './outcome.js';
import type { Primitive, Setting } from './subjects/subject.js';
import type { Terms } from './trial.js';

export interface Fault {
  /** Default: the mutex. */
  readonly primitive?: Primitive;
  readonly number: string;
  readonly name: string;
  /** How the fault is produced. */
  readonly how: string;
  /** What must hold in addition to the promises that always hold. */
  readonly holds: string;
  readonly full: Form;
  readonly short: Form;
  /** Why this machine cannot run it. */
  missing?(): string | undefined;
  run(terms: Terms): Promise<Outcome>;
}

export interface Form {
  readonly ttl: number;
  /** How many times the fault happens in each trial. */
  readonly count: number;
  /** One trial each, run concurrently. */
  readonly trials: readonly Setting['handler'][];
}
