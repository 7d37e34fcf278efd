import { expect, it } from 'vitest';
import type { RowOutcome, SubjectOutcome } from '../harness/outcome.js';
import type { Row } from '../harness/table.js';
import { matrices } from './matrix.js';

const cell = { id: 'cell', subjects: [], measure: async () => ({ ok: true, samples: {} }) };

function subject(name: string, median: number | null): SubjectOutcome {
  return {
    subject: { name, role: name === 'ours' ? 'ours' : 'peer' },
    ...{ version: null, note: '', unequal: false, unavailable: false, ratio: null },
    ok: median !== null,
    value: median === null ? null : { median, low: median, high: median },
    verdict: name === 'ours' ? 'unknown' : 'faster',
    samples: new Map(),
  };
}

function row(name: string, matrix: Row['matrix'], subjects: SubjectOutcome[]): RowOutcome {
  const described: Row = {
    row: name,
    cell: 'cell',
    measure: name,
    unit: '',
    better: 'lower',
    about: '',
  };
  return {
    row: matrix ? { ...described, matrix } : described,
    ...{ cell, rounds: 3, subjects, ours: subjects[0] ?? null, bestPeer: null, ratio: null },
    ...{
      verdict: 'unknown',
      noise: null,
      repeatedRounds: 0,
      disturbedRounds: 0,
      foreignShare: null,
    },
  };
}

it('has a line for each subject and a column for each row, and a dash where there is no figure', () => {
  const waits = (column: string) => ({ title: 'Waits', block: 'p99', column });
  const [only, ...others] = matrices([
    row('alone', undefined, [subject('ours', 7)]),
    row('one', waits('1/1'), [subject('ours', 1.2345), subject('theirs', null)]),
    row('two', waits('2/3'), [subject('ours', 2), subject('theirs', 3), subject('late', 4)]),
  ]);
  expect(others).toEqual([]);
  const text = String(only);
  const lines = text.slice(text.indexOf('<tbody>')).split('</tr>').slice(0, -1);
  const cells = lines.map((line) =>
    [...line.matchAll(/>([^<>\n]+)<\/t[dh]>/g)].map(([, one]) => one),
  );
  expect(cells).toEqual([
    ['ours', '1.23', '2'],
    ['theirs', '–', '3'],
    ['late', '–', '4'],
  ]);
  expect(text).toContain('<td class="faster" data-label="p99, 2/3">3</td>');
});
