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

/** A table of two cells with these rows; the second cell reports behaviours. */
async function tableWith(...rowsOf: string[]) {
  const cells = ['first', 'second'].map((id) => ({ id, subjects: ['ours'] }));
  const rows = rowsOf.map((cell) => ({ row: cell, cell }));
  const table = {
    ...{ table: 'made-up', subjects: [{ name: 'ours', role: 'ours' }], cells, rows },
    behaviours: [{ title: 'Manners', cell: 'second', about: '', columns: [] }],
  };
  mkdirSync(join(folder, 'made-up'));
  writeFileSync(join(folder, 'made-up', 'table.js'), `export default ${JSON.stringify(table)};`);
  return loadTable(folder, 'made-up');
}

// A module is loaded once per path, so each of these has a folder of its own.
describe('a table', () => {
  it('may have a cell without figures', async () => {
    await expect(tableWith('first')).resolves.toMatchObject({ table: { table: 'made-up' } });
  });

  it('has a headline in its first cell', async () => {
    await expect(tableWith('second')).rejects.toThrow(
      'its first cell has no row to be the headline',
    );
  });

  it('has no row of a missing cell', async () => {
    await expect(tableWith('first', 'third')).rejects.toThrow('no cell has the id third');
  });
});
