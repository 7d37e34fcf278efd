/**
 * What a run will measure: which groups, how many rounds, how long each cell may take. The one place
 * that decides how thorough a run is.
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
  /** Measuring again what others disturbed may take this share of the whole run. */
  readonly mostRepeating: number;
  readonly groups: readonly PlannedGroup[];
}

type Manner = Pick<Plan, 'budget' | 'mostRepeating'>;

const thorough: Manner = {
  budget: { warmupMilliseconds: 200, measureMilliseconds: 400 },
  mostRepeating: 1 / 4,
};
const quick: Manner = {
  budget: { warmupMilliseconds: 80, measureMilliseconds: 120 },
  mostRepeating: 1 / 4,
};
/** Every table, within a coffee break. The warm-up stays: engines take as long as ever to compile. */
const overview: Manner = {
  budget: { warmupMilliseconds: 80, measureMilliseconds: 60 },
  mostRepeating: 1 / 10,
};
const thoroughFromRounds = 10;
export const defaultRounds = 3;

export function planTable(options: {
  readonly table: Table;
  readonly rounds: number;
  /** One of all tables, which leaves out the cells that must be asked for, unless it is thorough. */
  readonly amongAll: boolean;
  /** A row's name or a cell's id; absent for all. */
  readonly row?: string | undefined;
  /** Measures this subject and ours alone. */
  readonly subject?: string | undefined;
}): Plan {
  const { table, rounds, amongAll, row, subject } = options;
  const manner = mannerOf(rounds, amongAll);
  const cells = table.cells.filter((cell) =>
    row === undefined ? manner !== overview || !cell.onlyAskedFor : isNamed(table, cell, row),
  );
  if (cells.length === 0) {
    const known = table.cells.map((cell) => cell.id).join(', ');
    throw new Error(`--row ${row}: expected a row or one of the cells ${known}`);
  }
  const groups = cells.flatMap((cell) => planGroup(table, cell, subject) ?? []);
  if (groups.length === 0) {
    const known = [...new Set(cells.flatMap((cell) => cell.subjects))].join(', ');
    throw new Error(`--subject ${subject}: expected one of ${known}`);
  }
  return { rounds, ...manner, groups };
}

function mannerOf(rounds: number, amongAll: boolean): Manner {
  if (rounds >= thoroughFromRounds) return thorough;
  return amongAll ? overview : quick;
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
