import { describe, expect, it } from 'vitest';
import table from './table.js';

const rowNamed = (name: string) => table.rows.find(({ row }) => row === name);

describe('the published figures', () => {
  it('are in every row of the document, for each of its versions', () => {
    const rows = table.rows.filter(({ column }) => column !== undefined);
    expect(rows).toHaveLength(5 * 4 + 5 * 5);
    for (const { row, published = {} } of rows) {
      const figures = Object.values(published);
      expect(figures, row).toHaveLength(4);
      expect(
        figures.every((figure) => figure > 0),
        row,
      ).toBe(true);
    }
  });

  it('are those of the row', () => {
    expect(rowNamed('test 1, 5/9')?.published).toEqual({
      'redis-em-mutex 0.1.2': 1.610321,
      'redis-em-mutex 0.2.3': 3.784084,
      'redis-em-mutex, pure handler': 1.576557,
      'redis-em-mutex, script handler': 1.040182,
    });
    expect(rowNamed('test 2, 1/1')?.published).toMatchObject({ 'redis-em-mutex 0.1.2': 3134 });
    expect(rowNamed('test 2, processor time: system, 10/19')?.published).toMatchObject({
      'redis-em-mutex, script handler': 0.4,
    });
  });
});
