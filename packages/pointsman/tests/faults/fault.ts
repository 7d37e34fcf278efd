/** A row of the matrix. The full and the short form run the same code, only the numbers differ. */
import type { Outcome } from './outcome.js';
import type { Setting } from './subjects/subject.js';
import type { Terms } from './trial.js';

export interface Fault {
  readonly number: string;
  readonly name: string;
  /** How it is brought about. */
  readonly how: string;
  /** What must hold beyond what must always hold. */
  readonly holds: string;
  readonly full: Form;
  readonly short: Form;
  /** Why it cannot be tried here. */
  missing?(): string | undefined;
  run(terms: Terms): Promise<Outcome>;
}

export interface Form {
  readonly ttl: number;
  /** How often the fault happens in each trial. */
  readonly count: number;
  /** One trial each, at the same time. */
  readonly trials: readonly Setting['handler'][];
}
