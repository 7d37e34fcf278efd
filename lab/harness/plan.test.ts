import { describe, expect, it } from 'vitest';
import { planTable } from './plan.js';
import type { Cell, Row, Table } from './table.js';

const cell = (id: string, more: Partial<Cell> = {}) =>
  ({ id, subjects: ['ours', 'peer'], ...more }) as Cell;
const row = (name: string): Row => ({
  row: `${name} row`,
  cell: name,
  measure: 'time',
  unit: 'ms',
  better: 'lower',
  about: 'What it takes.',
});

const table: Table = {
  table: 'chairs',
  title: 'Chairs',
  document: { title: 'A document', source: 'https://example.org/' },
  subjects: [
    { name: 'ours', role: 'ours' },
    { name: 'peer', role: 'peer' },
  ],
  cells: [cell('sitting'), cell('rocking', { onlyAskedFor: true })],
  rows: [row('sitting'), row('rocking')],
};

const plan = (given: Partial<Parameters<typeof planTable>[0]>) =>
  planTable({ table, rounds: 3, amongAll: false, ...given });
const cellsOf = (given: Partial<Parameters<typeof planTable>[0]>) =>
  plan(given).groups.map(({ cell }) => cell.id);

describe('what a run measures', () => {
  it('leaves out of a quick run of all tables what must be asked for', () => {
    expect(cellsOf({ amongAll: true })).toEqual(['sitting']);
    expect(cellsOf({ amongAll: false })).toEqual(['sitting', 'rocking']);
    expect(cellsOf({ amongAll: true, rounds: 10 })).toEqual(['sitting', 'rocking']);
    expect(cellsOf({ row: 'rocking row' })).toEqual(['rocking']);
    expect(plan({ row: 'rocking row' }).isTrial).toBe(false);
  });

  it('tries out the rows of a pattern alone', () => {
    expect(cellsOf({ row: 'ING row' })).toEqual(['sitting', 'rocking']);
    expect(cellsOf({ row: '^rock' })).toEqual(['rocking']);
    expect(plan({ row: '^rock' }).isTrial).toBe(true);
    expect(plan({ subject: 'pe+r' }).groups[0]?.runs.map(({ subject }) => subject)).toEqual([
      'ours',
      'peer',
      'ours',
    ]);
  });
});

describe('how thorough a run is', () => {
  it('measures and repeats for less time among all tables, and warms up as long', () => {
    const all = plan({ amongAll: true });
    const one = plan({});
    expect(all.budget.measureMilliseconds).toBeLessThan(one.budget.measureMilliseconds);
    expect(all.budget.warmupMilliseconds).toBe(one.budget.warmupMilliseconds);
    expect(all.mostRepeating).toBeLessThan(one.mostRepeating);
    expect(all.rounds).toBe(3);
  });

  it('is the same for one table and for all from 10 rounds on', () => {
    expect(plan({ amongAll: true, rounds: 10 })).toEqual(plan({ rounds: 10 }));
    const { budget, mostRepeating } = plan({ rounds: 10 });
    expect(budget).toEqual({ warmupMilliseconds: 200, measureMilliseconds: 400 });
    expect(mostRepeating).toBe(1 / 4);
  });
});
