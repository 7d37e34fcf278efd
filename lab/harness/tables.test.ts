import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadTable } from './tables.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tables-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A table of two cells, of which this one is left out of a run of all tables. */
async function tableWithout(leftOut: string, column: object = {}) {
  const cells = ['first', 'second'].map((id) => ({
    id,
    subjects: ['ours'],
    ...(id === leftOut ? { onlyAskedFor: true } : {}),
  }));
  const rows = cells.map(({ id }) => ({ row: id, cell: id, ...(id === 'second' ? column : {}) }));
  const table = { table: 'made-up', subjects: [{ name: 'ours', role: 'ours' }], cells, rows };
  mkdirSync(join(folder, 'made-up'));
  writeFileSync(join(folder, 'made-up', 'table.js'), `export default ${JSON.stringify(table)};`);
  return loadTable(folder, 'made-up');
}

// A module is loaded once from each path, so each of these has a folder of its own.
describe('a cell that only those measure who ask for it', () => {
  it('may have rows that are not of the document', async () => {
    await expect(tableWithout('second')).resolves.toMatchObject({ table: { table: 'made-up' } });
  });

  it('is not the first cell', async () => {
    await expect(tableWithout('first')).rejects.toThrow(
      'cell first must not be left out of any run',
    );
  });

  it('has no row of the document', async () => {
    await expect(tableWithout('second', { column: 'As published' })).rejects.toThrow(
      'cell second must not be left out of any run',
    );
  });
});
