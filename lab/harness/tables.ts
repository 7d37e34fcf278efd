/**
 * The lab's tables: every folder of compiled tables that has a `table.js`.
 *
 * Invariant: an inconsistent table (a row of a missing cell, a subject without a description) is refused before
 * anything is measured.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Cell, Row, Subject, Table } from './table.js';

export interface LoadedTable {
  readonly table: Table;
  /** The compiled module, which each cell's process loads. */
  readonly module: string;
}

export function tableNames(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'table.js')))
    .sort();
}

export async function loadTable(folder: string, name: string): Promise<LoadedTable> {
  const names = tableNames(folder);
  if (!names.includes(name)) {
    throw new Error(
      `--table ${name}: expected one of ${names.join(', ') || '(no table is built)'}`,
    );
  }
  const module = join(folder, name, 'table.js');
  const table: Table = (await import(pathToFileURL(module).href)).default;
  checkTable(table);
  return { table, module };
}

export function subjectOf(table: Table, name: string): Subject {
  const found = table.subjects.find((subject) => subject.name === name);
  if (!found) throw new Error(`table ${table.table}: no subject is named ${name}`);
  return found;
}

export function cellOf(table: Table, id: string): Cell {
  const found = table.cells.find((cell) => cell.id === id);
  if (!found) throw new Error(`table ${table.table}: no cell has the id ${id}`);
  return found;
}

export function rowsOf(table: Table, cell: Cell): Row[] {
  return table.rows.filter((row) => row.cell === cell.id);
}

/** Returns our subject of this cell, which every ratio compares. */
export function oursIn(table: Table, cell: Cell): string | undefined {
  return cell.subjects.find((name) => subjectOf(table, name).role === 'ours');
}

/** Returns the table with ours as its only subject and its only peer: each row should show no difference. */
export function againstItself(table: Table): Table {
  const subjects: Subject[] = [];
  const again = (ours: string) => `${ours}, again`;
  const cells = table.cells.map((cell): Cell => {
    const ours = oursIn(table, cell);
    if (ours === undefined) return { ...cell, subjects: [] };
    if (!subjects.some(({ name }) => name === ours)) {
      subjects.push(subjectOf(table, ours));
      subjects.push({ name: again(ours), role: 'peer', sameAs: ours });
    }
    return { ...cell, subjects: [ours, again(ours)] };
  });
  const rows = table.rows.map(({ subjects: _, published: __, ...row }) => row);
  return { ...table, subjects, cells, rows };
}

function checkTable(table: Table): void {
  const [headline] = table.cells;
  if (!headline || rowsOf(table, headline).length === 0) {
    throw new Error(`table ${table.table}: its first cell has no row to be the headline`);
  }
  for (const cell of table.cells) {
    for (const name of cell.subjects) subjectOf(table, name);
    const behaves = table.behaviours?.some((behaviours) => behaviours.cell === cell.id);
    if (rowsOf(table, cell).length === 0 && !behaves) {
      throw new Error(`table ${table.table}: cell ${cell.id} has no row`);
    }
  }
  for (const row of table.rows) {
    cellOf(table, row.cell);
    for (const name of Object.keys(row.published ?? {})) subjectOf(table, name);
  }
  for (const { cell } of table.behaviours ?? []) cellOf(table, cell);
  for (const name of table.headline?.beside ?? []) {
    if (!table.rows.some(({ row }) => row === name)) {
      throw new Error(`table ${table.table}: no row is named ${name}, to be beside the headline`);
    }
  }
  refuseRepeats(
    table,
    'row',
    table.rows.map((row) => row.row),
  );
  refuseRepeats(
    table,
    'cell',
    table.cells.map((cell) => cell.id),
  );
  refuseRepeats(
    table,
    'subject',
    table.subjects.map((subject) => subject.name),
  );
}

function refuseRepeats(table: Table, what: string, names: string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw new Error(`table ${table.table}: more than one ${what} is named ${repeated}`);
  }
}
