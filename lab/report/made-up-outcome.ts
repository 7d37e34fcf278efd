/** An invented table with three rounds of the same figures, for the tests of the report. */
import type { GroupRound, JournalContent } from '../harness/journal.js';
import { outcomeOf, type TableOutcome } from '../harness/outcome.js';
import type { Measurement, Row, Subject, Table } from '../harness/table.js';

const measure = async (): Promise<Measurement> => ({ ok: true, samples: {} });

const peers = ['swift', 'quick', 'brisk', 'slow', 'slower', 'lossy', 'broken'];
const subjects: readonly Subject[] = [
  { name: 'ours', role: 'ours' },
  ...peers.map((name) => ({ name, role: 'peer' as const })),
  { name: 'nothing', role: 'floor' },
];

function tableOf(name: string, better: Row['better']): Table {
  const row = { cell: 'first', measure: 'figure', unit: 'turns/s', better, about: 'Turns.' };
  return {
    table: name,
    title: `All about ${name}`,
    headline: { ours: 'Ours', where: 'indoors', work: `${name} in a row` },
    document: { title: 'A document', source: 'https://example.org/' },
    subjects,
    cells: ['first', 'second'].map((id) => ({
      id,
      subjects: subjects.map((of) => of.name),
      measure,
    })),
    // The first described row need not be the headline.
    rows: [
      { ...row, row: 'elsewhere', cell: 'second' },
      { ...row, row: 'the headline', column: 'Turns' },
    ],
  };
}

export type Figures = Readonly<Record<string, number>>;

/** Three rounds of the same figures; `lossy` breaks a promise, and a subject without a figure fails. */
export function outcomeWith(
  figures: Figures,
  better: Row['better'] = 'higher',
  name = 'chairs',
): TableOutcome {
  const named = Object.entries({ ...figures, control: figures.ours ?? Number.NaN });
  const roundsOf = (cell: string) =>
    [1, 2, 3].map(
      (round): GroupRound => ({
        kind: 'round',
        cell,
        round,
        date: `2026-01-0${round}T00:00:00.000Z`,
        milliseconds: 1,
        load: { foreign: round === 1 ? 0.2 : 0, steal: 0 },
        subjects: named.map(([subject, figure]) => ({
          subject: subject === 'control' ? 'ours' : subject,
          control: subject === 'control',
          ok: !Number.isNaN(figure),
          note: '',
          samples: { figure: [figure] },
          ...(subject === 'lossy' ? { unequal: 'lost half of it' } : {}),
        })),
      }),
    );
  const group = (cell: string) => [cell, { rounds: roundsOf(cell), finished: true }] as const;
  const journal = {
    header: {
      versions: {},
      wakeUpMicroseconds: 50,
      machine: {
        ...{ cpu: 'A processor', cores: 2, memory_gibibytes: 4, system: 'A system' },
        ...{ kernel: 'A kernel', node: '20.20.2', v8: '11.3', commit: null },
      },
    },
    groups: new Map([group('second'), group('first')]),
  };
  return outcomeOf(tableOf(name, better), journal as unknown as JournalContent);
}

export const all: Figures = {
  ...{ ours: 600, swift: 300, quick: 1200, brisk: 150, slow: 60, slower: 30 },
  ...{ lossy: 9000, broken: Number.NaN, nothing: 2400 },
};
