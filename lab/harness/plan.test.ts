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

describe('the rounds and the budget of a run', () => {
  it('gives the headline more rounds, in a bounded time, unless a number is set', () => {
    const headline = planPart(table, 'headline');
    expect([headline.rounds, headline.mostMilliseconds]).toEqual([5, 70_000]);
    const others = planPart(table, 'all other rows');
    expect([others.rounds, others.mostMilliseconds]).toEqual([3, Number.POSITIVE_INFINITY]);
    const chosen = planPart(table, 'headline', 7);
    expect([chosen.rounds, chosen.mostMilliseconds]).toEqual([7, Number.POSITIVE_INFINITY]);
  });

  it('has a longer warm-up and measurement from 10 rounds on', () => {
    const thorough = { warmupMilliseconds: 200, measureMilliseconds: 400 };
    expect(planPart(table, 'headline', 10).budget).toEqual(thorough);
    expect(asked({ row: '^rock', rounds: 10 }).budget).toEqual(thorough);
    // A run continues another only with the same budget.
    expect(planPart(table, 'headline').budget).toEqual(planPart(table, 'all other rows', 9).budget);
  });
});
