import { describe, expect, it } from 'vitest';
import type { NativeCell } from '../../harness/table.js';
import table from './table.js';

const budget = { warmupMilliseconds: 80, measureMilliseconds: 120 };
const cells = table.cells as readonly NativeCell[];

function cellNamed(id: string): NativeCell {
  const found = cells.find((cell) => cell.id === id);
  if (!found) throw new Error(`no cell ${id}`);
  return found;
}

describe('the table', () => {
  it('begins with the rows that `make lab` measures', () => {
    expect(cells.slice(0, table.headlineCells).map(({ id }) => id)).toEqual([
      'echo over TCP, 64 connections',
      'echo over TCP, 64 connections, 1,000 requests/s, a task blocks',
      'hyper, plain text',
      'connections made and closed',
    ]);
    expect(table.rows[0]).toMatchObject({ cell: cells[0]?.id, measure: 'rate' });
  });

  it('has unique cells and rows, and a cell for each row', () => {
    const ids = cells.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(table.rows.map(({ row }) => row)).size).toBe(table.rows.length);
    expect(table.rows.filter(({ cell }) => !ids.includes(cell))).toEqual([]);
  });

  it('measures every work quiet and while a task blocks', () => {
    const ids = cells.map(({ id }) => id).filter((id) => !id.endsWith('on one thread'));
    const quiet = ids.filter((id) => !id.endsWith(', a task blocks'));
    expect(ids.filter((id) => !quiet.includes(id)).sort()).toEqual(
      quiet.map((id) => `${id}, a task blocks`).sort(),
    );
  });
});

describe('a cell', () => {
  it('passes program, work, condition and duration to the load', () => {
    const [load, program, ...words] = cellNamed(
      'echo over TCP, 64 connections, 1,000 requests/s, a task blocks',
    ).command('tokio', budget);
    expect(load).toMatch(/net-load$/);
    expect(program).toMatch(/net-tokio$/);
    expect(words).toEqual(['tcp/64', 'cores', 'blocked', '1000', '80', '960', '']);
  });

  it('has the hand-written floor where nothing blocks', () => {
    expect(cellNamed('echo over TCP, 64 connections').subjects).toContain('by hand');
    expect(cellNamed('echo over TCP, 64 connections, a task blocks').subjects).toEqual([
      'pointsman',
      'tokio',
      'monoio',
    ]);
  });
});
