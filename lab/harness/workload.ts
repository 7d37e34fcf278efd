/**
 * One batch of work that is timed as a whole. Invariant: it checks its result before it ends, so a subject that does
 * too little work fails.
 */
export interface Workload {
  readonly operations: number;
  batch(): Promise<void>;
  /** Prepares what a batch consumes; not timed. */
  beforeEach?(): void;
}

export function expectCount(what: string, count: number, expected: number): void {
  if (count !== expected) throw new Error(`${what}: ${count}, expected ${expected}`);
}
