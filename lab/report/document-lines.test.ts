import { expect, it } from 'vitest';
import { documentLines } from './document-lines.js';
import { cellsIn, madeUpRow, madeUpSubject } from './made-up-row.js';

const ratio = { median: 2, low: 1.5, high: 3 };

it('has a line for each test, its heading once, failed subjects, and the ratio of ours', () => {
  const described = (column: string, heading: string, unit: string, published?: number) => ({
    ...{ column, heading, unit },
    ...(published === undefined ? {} : { published: { theirs: published } }),
  });
  const table = documentLines(
    [
      madeUpRow(
        'first',
        described('small', 'sizes', 'µs', 94.34),
        [madeUpSubject('ours', 1), madeUpSubject('theirs', 2), madeUpSubject('new', 3)],
        ratio,
      ),
      madeUpRow('second', described('large', 'sizes', 'µs', 31_277), [
        madeUpSubject('ours', 4),
        madeUpSubject('theirs', null),
      ]),
      madeUpRow('third', described('8 cores', 'cores', 'ns', 5), []),
    ],
    'line per test',
  );
  expect(cellsIn(String(table))).toEqual([
    ['sizes, µs'],
    ['small', '94.34', '2', '1', '3', '2.00 1.50 to 3.00 worst round 1.50'],
    ['large', '31,277', 'failed: was wrong', '4', '–', ''],
    ['cores, ns'],
    ['8 cores', '5', '–', '–', '–', ''],
  ]);
});

it('compares nothing if the lines are figures of one test', () => {
  const described = { column: 'Rate', unit: 'req/s', published: { theirs: 1.5 } };
  const subjects = [madeUpSubject('ours', 3), madeUpSubject('theirs', 2)];
  const table = documentLines([madeUpRow('rate', described, subjects, ratio)], 'line per figure');
  expect(cellsIn(String(table))).toEqual([['Rate req/s', '1.5', '2', '3']]);
});
