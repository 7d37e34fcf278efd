import { describe, expect, it } from 'vitest';
import { planAsked, planPart } from './plan.js';
import type { Cell, Row, Table } from './table.js';

const cell = (id: string) => ({ id, subjects: ['ours', 'peer'] }) as unknown as Cell;
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
  cells: [cell('sitting'), cell('rocking'), cell('turning')],
  rows: [row('sitting'), row('rocking'), row('turning')],
};

const cellsOf = ({ groups }: ReturnType<typeof planPart>) => groups.map(({ cell }) => cell.id);
const asked = (given: Partial<Parameters<typeof planAsked>[0]>) => planAsked({ table, ...given });

describe('the plan of a run', () => {
  it('has the first cell for the headline, and then the others', () => {
    expect(cellsOf(planPart(table, 'headline'))).toEqual(['sitting']);
    expect(cellsOf(planPart(table, 'all other rows'))).toEqual(['rocking', 'turning']);
  });

  it('has more cells for the headline if the table says so', () => {
    const wider: Table = { ...table, headlineCells: 2 };
    expect(cellsOf(planPart(wider, 'headline'))).toEqual(['sitting', 'rocking']);
    expect(cellsOf(planPart(wider, 'all other rows'))).toEqual(['turning']);
  });

  it('has the whole cell of a named row', () => {
    expect(cellsOf(asked({ row: 'rocking row' }))).toEqual(['rocking']);
    expect(asked({ row: 'rocking row' }).isTrial).toBe(false);
  });

  it('has only the matching rows of a pattern', () => {
    expect(cellsOf(asked({ row: 'ING row' }))).toEqual(['sitting', 'rocking', 'turning']);
    expect(cellsOf(asked({ row: '^rock' }))).toEqual(['rocking']);
    expect(asked({ row: '^rock' }).isTrial).toBe(true);
    const [group] = asked({ subject: 'pe+r' }).groups;
    expect(group?.runs.map(({ subject }) => subject)).toEqual(['ours', 'peer', 'ours']);
  });
});

describe('the rounds of a run', () => {
  it('are as many as a certain verdict needs within a time, unless a number is set', () => {
    const { rounds: headline } = planPart(table, 'headline');
    expect(headline.fewest).toBe(3);
    expect(headline.most).toBeGreaterThan(3);
    expect(headline.milliseconds).toBeLessThan(100_000);
    const chosen = planPart(table, 'headline', 7).rounds;
    expect(chosen).toEqual({ fewest: 7, most: 7, milliseconds: Number.POSITIVE_INFINITY });
    expect(asked({ row: '^rock', rounds: 2 }).rounds.most).toBe(2);
  });
});
