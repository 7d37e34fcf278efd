/**
 * The plan of a run: which groups, and how many rounds. Only this module decides how thorough a run is.
 *
 * A group is one cell with all its subjects; ours is in it twice. The second process is the control, which shows how
 * much a subject differs from itself.
 */
import { fewestRounds } from './statistics.js';
import type { Cell, Row, Table } from './table.js';
import { oursIn, rowsOf, subjectOf } from './tables.js';

export interface PlannedRun {
  readonly subject: string;
  readonly control: boolean;
  /** As in `Subject.sameAs`. */
  readonly sameAs?: string;
}

export interface PlannedGroup {
  readonly cell: Cell;
  readonly rows: readonly Row[];
  readonly runs: readonly PlannedRun[];
  /** Whether no row compares subjects, so that one round without a control is enough. */
  readonly once: boolean;
}

export interface Plan {
  /** The name of the part. */
  readonly part: Part | 'rows asked for';
  readonly rounds: Rounds;
  readonly groups: readonly PlannedGroup[];
  /** Whether the rounds are kept apart from the table's: a run of some rows or subjects, or of ours against itself. */
  readonly isTrial: boolean;
}

/** A table is measured in two parts, so that its headline is available early. */
export type Part = 'headline' | 'all other rows';

/** How many rounds a group gets. */
export interface Rounds {
  /** The minimum of each group. */
  readonly fewest: number;
  /** The maximum of a group without a certain verdict. */
  readonly most: number;
  /** No group gets a round above the minimum when the part has taken this long. */
  readonly milliseconds: number;
}

const roundsOfPart: Readonly<Record<Part, Rounds>> = {
  headline: { fewest: fewestRounds, most: 20, milliseconds: 90_000 },
  'all other rows': { fewest: fewestRounds, most: 10, milliseconds: 300_000 },
};

function roundsOf(part: Part, asked: number | undefined): Rounds {
  return asked === undefined ? roundsOfPart[part] : exactly(asked);
}

function exactly(rounds: number): Rounds {
  return { fewest: rounds, most: rounds, milliseconds: Number.POSITIVE_INFINITY };
}

/** Plans a part of the table, with all its subjects. */
export function planPart(table: Table, part: Part, rounds?: number): Plan {
  const { cells: all, headlineCells = 1 } = table;
  const cells = part === 'headline' ? all.slice(0, headlineCells) : all.slice(headlineCells);
  return {
    part,
    rounds: roundsOf(part, rounds),
    groups: cells.flatMap((cell) => planGroup(table, cell, rowsOf(table, cell)) ?? []),
    isTrial: false,
  };
}

/** Plans the cells selected by a row, a subject, or both. */
export function planAsked(options: {
  readonly table: Table;
  readonly rounds?: number | undefined;
  /** The name of a row, the id of a cell, or a pattern for rows; absent for all. */
  readonly row?: string | undefined;
  /** Only the subjects that match this name or pattern, and ours. */
  readonly subject?: string | undefined;
  /** Whether the table is ours against itself. */
  readonly itself?: boolean;
}): Plan {
  const { table, rounds, row, subject, itself = false } = options;
  const isTrial =
    itself ||
    subject !== undefined ||
    (row !== undefined && !table.cells.some((cell) => isNamed(table, cell, row)));
  const planned = table.cells
    .map((cell) => ({ cell, rows: rowsAskedFor(table, cell, row, isTrial) }))
    .filter(({ cell, rows }) => row === undefined || rows.length > 0 || cell.id === row);
  if (planned.length === 0) {
    const known = table.cells.map((cell) => cell.id).join(', ');
    throw new Error(`--row ${row}: expected a row, a pattern of rows or one of the cells ${known}`);
  }
  const groups = planned.flatMap(({ cell, rows }) => planGroup(table, cell, rows, subject) ?? []);
  if (groups.length === 0) {
    const known = [...new Set(planned.flatMap(({ cell }) => cell.subjects))].join(', ');
    throw new Error(`--subject ${subject}: expected one of ${known}`);
  }
  return {
    part: 'rows asked for',
    rounds: roundsOf('headline', rounds),
    groups,
    isTrial,
  };
}

/**
 * A trial measures only the matching rows. For the report all rows of the cell are, because they replace its rounds.
 */
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
  const runs = subjects.map((subject): PlannedRun => {
    const { sameAs } = subjectOf(table, subject);
    return { subject, control: false, ...(sameAs === undefined ? {} : { sameAs }) };
  });
  const once = rows.every(({ aside }) => aside);
  const control = ours === undefined || once ? [] : [{ subject: ours, control: true }];
  return { cell, rows, runs: [...runs, ...control], once };
}
