import { expect, it } from 'vitest';
import { cellsIn, madeUpRow, madeUpSubject } from './made-up-row.js';
import { matrices } from './matrix.js';

it('has a line for each subject and a column for each row, and a dash for a missing figure', () => {
  const waits = (column: string) => ({ matrix: { title: 'Waits', block: 'p99', column } });
  const [only, ...others] = matrices([
    madeUpRow('alone', {}, [madeUpSubject('ours', 7)]),
    madeUpRow('one', waits('1/1'), [madeUpSubject('ours', 1.2345), madeUpSubject('theirs', null)]),
    madeUpRow('two', waits('2/3'), [
      madeUpSubject('ours', 2),
      madeUpSubject('theirs', 3),
      madeUpSubject('late', 4),
    ]),
  ]);
  expect(others).toEqual([]);
  const text = String(only?.table);
  expect(cellsIn(text)).toEqual([
    ['ours', '1.23', '2'],
    ['theirs', '–', '3'],
    ['late', '–', '4'],
  ]);
  expect(text).toContain('<td class="faster" data-label="p99, 2/3">3</td>');
});

it('shows processor time below its figure, and ours against the best peer below all', () => {
  const matrix = { title: 'Tasks', block: 'tasks/s', column: 'empty' };
  const ours = { ...madeUpSubject('ours', 200), processorTime: 12.34 };
  const ratio = { median: 2, low: 1.5, high: 3 };
  const [only] = matrices([
    madeUpRow(
      'one',
      { matrix, processorTime: 'used' },
      [ours, madeUpSubject('theirs', 100)],
      ratio,
    ),
  ]);
  expect(cellsIn(String(only?.table))).toEqual([
    ['ours', '20012 µs'],
    ['theirs', '100'],
    ['times better; worst round', '2.001.50'],
  ]);
});

it('is transposed if it has many more rows than subjects', () => {
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const ratio = { median: 2, low: 1.5, high: 3 };
  const [only] = matrices(
    numbers.map((number) => {
      const block = number < 8 ? 'many, µs' : 'few, ns';
      const matrix = { title: 'Tests', block, column: `number ${number}` };
      const subjects = [madeUpSubject('ours', number), madeUpSubject('theirs', 2 * number)];
      return madeUpRow(`row ${number}`, { matrix }, subjects, number === 1 ? ratio : null);
    }),
  );
  const [heading, first, ...lines] = cellsIn(String(only?.table));
  expect(heading).toEqual(['many, µs; lower is better']);
  expect(first).toEqual(['number 1', '1', '2', '2.00 1.50 to 3.00 worst round 1.50']);
  expect(lines.slice(5)).toEqual([
    ['number 7', '7', '14', ''],
    ['few, ns; lower is better'],
    ['number 8', '8', '16', ''],
    ['number 9', '9', '18', ''],
  ]);
});
