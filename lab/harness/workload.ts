/**
 * One batch of work that is timed as a whole. Invariant: it checks its own result before it ends,
 * so that a subject that let too few in is a failed one, never a fast one.
 */
export interface Workload {
  readonly operations: number;
  /** An async function, so that tinybench need not call it once to learn that it is. */
  batch(): Promise<void>;
  /** Brings what a batch uses up; not timed. */
  beforeEach?(): void;
}

export function expectCount(what: string, count: number, expected: number): void {
  if (count !== expected) throw new Error(`${what}: ${count}, expected ${expected}`);
}
