/**
 * Estimates the remaining time of a run from the time that each cell took, or from its budget before its first run.
 */
import { median } from 'simple-statistics';
import type { PlannedGroup, PlannedRun } from './plan.js';
import type { Budget, Cell } from './table.js';

/** The overhead of a process: start, loading the table, exit. */
const startMilliseconds = 200;
const startNativeMilliseconds = 10;

export class Pace {
  readonly #budget: Budget;
  readonly #taken = new Map<string, number[]>();
  #needed = 0;
  #spent = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  noteRun(cell: Cell, run: PlannedRun, milliseconds: number): void {
    const key = keyOf(cell, run);
    this.#taken.set(key, [...(this.#taken.get(key) ?? []), milliseconds]);
  }

  noteGroup(group: PlannedGroup, attempts: number): void {
    const once = this.expect(group.cell, group.runs);
    this.#needed += once;
    this.#spent += once * attempts;
  }

  expect(cell: Cell, runs: readonly PlannedRun[]): number {
    return runs.reduce((sum, run) => sum + this.#expectRun(cell, run), 0);
  }

  /** Rounds that had to be measured again are expected to go on at the same rate. */
  get repeating(): number {
    return this.#needed === 0 ? 1 : this.#spent / this.#needed;
  }

  #expectRun(cell: Cell, run: PlannedRun): number {
    const taken = this.#taken.get(keyOf(cell, run));
    if (taken) return median(taken);
    const { warmupMilliseconds, measureMilliseconds } = this.#budget;
    const beyond = cell.expectedMilliseconds ?? 0;
    const start = 'command' in cell ? startNativeMilliseconds : startMilliseconds;
    return start + warmupMilliseconds + measureMilliseconds + beyond;
  }
}

function keyOf(cell: Cell, run: PlannedRun): string {
  return `${cell.id}\n${run.subject}`;
}
