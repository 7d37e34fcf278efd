/**
 * What a run will measure: which groups, how many rounds, how long each cell may take.
 *
 * A group is one cell with all its subjects; ours stands in it twice, the second time as the
 * control that shows how much a subject differs from itself.
 */
import type { Budget, Cell, Row, Table } from './table.js';
import { oursIn, rowsOf } from './tables.js';

export interface PlannedRun {
  readonly subject: string;
  readonly control: boolean;
}

export interface PlannedGroup {
  readonly cell: Cell;
  readonly rows: readonly Row[];
  readonly runs: readonly PlannedRun[];
  /** It gives no figures, which would have to be measured again and again and against a control. */
  readonly once: boolean;
}

export interface Plan {
  readonly rounds: number;
  readonly budget: Budget;
  readonly groups: readonly PlannedGroup[];
}

const quick: Budget = { warmupMilliseconds: 80, measureMilliseconds: 120 };
const thorough: Budget = { warmupMilliseconds: 200, measureMilliseconds: 400 };
const thoroughFromRounds = 10;
export const defaultRounds = 3;

export function planTable(options: {
  readonly table: Table;
  readonly rounds: number;
  /** A row's name or a cell's id; absent for all. */
  readonly row?: string | undefined;
  /** Measures this subject and ours alone. */
  readonly subject?: string | undefined;
}): Plan {
  const { table, rounds, row, subject } = options;
  const cells = table.cells.filter((cell) => row === undefined || isNamed(table, cell, row));
  if (cells.length === 0) {
    const known = table.cells.map((cell) => cell.id).join(', ');
    throw new Error(`--row ${row}: expected a row or one of the cells ${known}`);
  }
  const groups = cells.flatMap((cell) => planGroup(table, cell, subject) ?? []);
  if (groups.length === 0) {
    const known = [...new Set(cells.flatMap((cell) => cell.subjects))].join(', ');
    throw new Error(`--subject ${subject}: expected one of ${known}`);
  }
  return { rounds, budget: rounds >= thoroughFromRounds ? thorough : quick, groups };
}

function isNamed(table: Table, cell: Cell, name: string): boolean {
  return cell.id === name || table.rows.some((row) => row.row === name && row.cell === cell.id);
}

function planGroup(table: Table, cell: Cell, only?: string): PlannedGroup | undefined {
  if (only !== undefined && !cell.subjects.includes(only)) return undefined;
  const ours = oursIn(table, cell);
  const subjects = cell.subjects.filter(
    (subject) => only === undefined || subject === only || subject === ours,
  );
  const runs = subjects.map((subject) => ({ subject, control: false }));
  const rows = rowsOf(table, cell);
  const once = rows.length === 0;
  const control = ours === undefined || once ? [] : [{ subject: ours, control: true }];
  return { cell, rows, runs: [...runs, ...control], once };
}
