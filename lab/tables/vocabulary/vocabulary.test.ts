import { describe, expect, it } from 'vitest';
import { subjects } from './subjects/index.js';
import table from './table.js';

describe('the table', () => {
  it('begins with the rows that `make lab` measures: limiters, then channels', () => {
    const headline = table.cells.slice(0, table.headlineCells).map(({ id }) => id);
    expect(headline).toEqual(['limiter, concurrency', 'buffered']);
    expect(table.rows[0]).toMatchObject({ cell: 'limiter, concurrency', measure: 'of10000' });
  });

  it('has unique cells and rows, and a cell for each row', () => {
    const ids = table.cells.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(table.rows.map(({ row }) => row)).size).toBe(table.rows.length);
    expect(table.rows.filter(({ cell }) => !ids.includes(cell))).toEqual([]);
  });

  it('has ours and a peer in every cell', () => {
    for (const { id, subjects: names } of table.cells) {
      const roles = names.map((name) => subjects.find((subject) => subject.name === name)?.role);
      expect([id, roles]).toEqual([id, expect.arrayContaining(['ours', 'peer'])]);
    }
  });

  it('has every subject in a cell', () => {
    const used = table.cells.flatMap((cell) => cell.subjects);
    expect(subjects.map(({ name }) => name).filter((name) => !used.includes(name))).toEqual([]);
  });
});

describe('the rows of rates', () => {
  it('do not judge a floor without a limit', () => {
    const obedient = table.cells.filter(({ id }) => id.startsWith('obedient'));
    expect(obedient).toHaveLength(2);
    for (const cell of obedient) expect(cell.subjects).not.toContain('bare promises');
  });
});
