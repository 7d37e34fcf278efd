/** Invented rows for the tests of the report. */
import type { RowOutcome, SubjectOutcome } from '../harness/outcome.js';
import type { Estimate } from '../harness/statistics.js';
import type { Row } from '../harness/table.js';

const cell = { id: 'cell', subjects: [], measure: async () => ({ ok: true, samples: {} }) };

/** A subject without a figure has failed. */
export function madeUpSubject(name: string, median: number | null): SubjectOutcome {
  return {
    subject: { name, role: name === 'ours' ? 'ours' : 'peer' },
    ...{ version: null, unequal: false, unavailable: false, idleShare: null },
    ...{ processorTime: null, series: new Map(), ratio: null, worstRatio: null },
    ok: median !== null,
    note: median === null ? 'was wrong' : '',
    value: median === null ? null : { median, low: median, high: median },
    verdict: name === 'ours' ? 'unknown' : 'faster',
    samples: new Map(),
  };
}

/** The first subject is ours. */
export function madeUpRow(
  name: string,
  described: Partial<Row>,
  subjects: readonly SubjectOutcome[],
  ratio: Estimate | null = null,
): RowOutcome {
  const row: Row = {
    ...{ row: name, cell: 'cell', measure: name, unit: '', better: 'lower', about: '' },
    ...described,
  };
  return {
    ...{ row, cell, rounds: 3, subjects, ours: subjects[0] ?? null, bestPeer: null, ratio },
    worstRatio: ratio?.low ?? null,
    verdict: ratio ? 'faster' : 'unknown',
    ...{ control: new Map(), noise: null, foreignShare: null },
  };
}

/** The text of each cell in the body of a table, line by line. */
export function cellsIn(table: string): string[][] {
  const lines = table.slice(table.indexOf('<tbody>')).split('</tr>').slice(0, -1);
  return lines.map((line) =>
    line
      .split(/<\/t[dh]>/)
      .slice(0, -1)
      .map((one) =>
        one
          .replace(/<[^>]*>/g, '')
          .trim()
          .replace(/\s+/g, ' '),
      ),
  );
}
