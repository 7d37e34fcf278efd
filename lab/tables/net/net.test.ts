import { describe, expect, it } from 'vitest';
import type { NativeCell } from '../../harness/table.js';
import table from './table.js';

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
  });

  it('has processor time and context switches beside the headline', () => {
    expect(table.rows.slice(0, 3).map(({ measure, matrix }) => [measure, matrix])).toEqual([
      ['rate', undefined],
      ['processor', undefined],
      ['switches', undefined],
    ]);
  });

  it('has unique cells and rows, and a cell for each row', () => {
    const ids = cells.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(table.rows.map(({ row }) => row)).size).toBe(table.rows.length);
    expect(table.rows.filter(({ cell }) => !ids.includes(cell))).toEqual([]);
  });
});

describe('a cell', () => {
  it('passes program, work and setting to the load', () => {
    const [load, program, ...words] = cellNamed(
      'echo over TCP, 64 connections, 1,000 requests/s, a task blocks',
    ).command('tokio');
    expect(load).toMatch(/net-load$/);
    expect(program).toMatch(/net-tokio$/);
    expect(words).toEqual(['tcp/64', 'cores', 'blocked', '1000', 'quiet']);
    expect(cellNamed('axum, JSON, 10,000 requests/s, one core busy').command('tokio')).toContain(
      'one core busy',
    );
  });

  it('has the hand-written floor in a closed loop where nothing blocks', () => {
    expect(cellNamed('echo over TCP, 64 connections').subjects).toContain('by hand');
    expect(cellNamed('echo over TCP, 64 connections, 1,000 requests/s').subjects).toEqual([
      'pointsman',
      'tokio',
      'monoio',
    ]);
  });
});
