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
  /** Some rows or some subjects alone, which say nothing about the rest of the table. */
  readonly isTrial: boolean;
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
  /** A row's name or a cell's id, or a pattern that rows alone are chosen by; absent for all. */
  readonly row?: string | undefined;
  /** Measures this subject, or those that match it, and ours alone. */
  readonly subject?: string | undefined;
}): Plan {
  const { table, rounds, amongAll, row, subject } = options;
  const manner = mannerOf(rounds, amongAll);
  const isTrial =
    subject !== undefined ||
    (row !== undefined && !table.cells.some((cell) => isNamed(table, cell, row)));
  const planned = table.cells
    .map((cell) => ({ cell, rows: rowsAskedFor(table, cell, row, isTrial) }))
    .filter(({ cell, rows }) => {
      if (row === undefined) return manner !== overview || !cell.onlyAskedFor;
      return rows.length > 0 || cell.id === row;
    });
  if (planned.length === 0) {
    const known = table.cells.map((cell) => cell.id).join(', ');
    throw new Error(`--row ${row}: expected a row, a pattern of rows or one of the cells ${known}`);
  }
  const groups = planned.flatMap(({ cell, rows }) => planGroup(table, cell, rows, subject) ?? []);
  if (groups.length === 0) {
    const known = [...new Set(planned.flatMap(({ cell }) => cell.subjects))].join(', ');
    throw new Error(`--subject ${subject}: expected one of ${known}`);
  }
  return { rounds, ...manner, groups, isTrial };
}

/** Of a cell that is measured for the report all, as it replaces what was known of it. */
function rowsAskedFor(
  table: Table,
  cell: Cell,
  asked: string | undefined,
  isTrial: boolean,
): readonly Row[] {
  const rows = rowsOf(table, cell);
  if (asked === undefined || cell.id === asked) return rows;
  const named = rows.filter(({ row }) => row === asked);
  if (named.length > 0) return isTrial ? named : rows;
  return isTrial ? rows.filter(({ row }) => matches(asked, row)) : [];
}

function matches(pattern: string, name: string): boolean {
  return name === pattern || new RegExp(pattern, 'i').test(name);
}

function mannerOf(rounds: number, amongAll: boolean): Manner {
  if (rounds >= thoroughFromRounds) return thorough;
  return amongAll ? overview : quick;
}

function isNamed(table: Table, cell: Cell, name: string): boolean {
  return cell.id === name || table.rows.some((row) => row.row === name && row.cell === cell.id);
}

function planGroup(
  table: Table,
  cell: Cell,
  rows: readonly Row[],
  only?: string,
): PlannedGroup | undefined {
  const ours = oursIn(table, cell);
  const isExact = only !== undefined && table.subjects.some(({ name }) => name === only);
  const isAsked = (subject: string) =>
    only === undefined || (isExact ? subject === only : matches(only, subject));
  const isIn = (subject: string) =>
    rows.length === 0 || rows.some((row) => row.subjects?.includes(subject) ?? true);
  const chosen = cell.subjects.filter((subject) => isAsked(subject) && isIn(subject));
  if (chosen.length === 0) return undefined;
  const subjects = cell.subjects.filter((subject) => chosen.includes(subject) || subject === ours);
  const runs = subjects.map((subject) => ({ subject, control: false }));
  const once = rows.length === 0;
  const control = ours === undefined || once ? [] : [{ subject: ours, control: true }];
  return { cell, rows, runs: [...runs, ...control], once };
}
