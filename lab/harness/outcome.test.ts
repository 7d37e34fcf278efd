import { describe, expect, it } from 'vitest';
import { describeTally } from '../report/console.js';
import { sentenceOf } from '../report/sentence.js';
import type { GroupRound, JournalContent, SubjectRound } from './journal.js';
import { openCells, outcomeOf, type RowOutcome, type TableOutcome } from './outcome.js';
import type { Measurement, Table } from './table.js';

const measure = async (): Promise<Measurement> => ({ ok: true, samples: {} });

const table: Table = {
  table: 'chairs',
  title: 'Chairs',
  headline: { ours: 'Our chair', where: 'in the kitchen' },
  document: { title: 'On chairs', source: 'https://example.org/' },
  subjects: [
    { name: 'ours', role: 'ours' },
    { name: 'fast', role: 'peer' },
    { name: 'slow', role: 'peer' },
    { name: 'floor', role: 'floor' },
  ],
  cells: [{ id: 'sitting', subjects: ['ours', 'fast', 'slow', 'floor'], measure }],
  rows: [
    {
      row: 'sitting down',
      cell: 'sitting',
      measure: 'time',
      unit: 'ms',
      better: 'lower',
      about: 'How long it takes.',
    },
  ],
};

type Figures = Readonly<Record<string, number | readonly number[] | string>>;

/** A figure is a sample, several are one for each turn; words say how the subject failed. */
function outcomeFrom(rounds: readonly Figures[], of = table, foreign = 0.01): TableOutcome {
  const lines = rounds.map((figures, index): GroupRound => {
    const subjects = Object.entries(figures).map(([name, figure]): SubjectRound => {
      const subject = name === 'control' ? 'ours' : name;
      const ok = typeof figure !== 'string';
      return {
        subject,
        control: name === 'control',
        ok,
        note: ok ? '' : figure,
        samples: ok ? { time: [figure].flat(), wall: [1] } : {},
      };
    });
    return {
      kind: 'round',
      cell: 'sitting',
      round: index + 1,
      date: `2026-01-0${index + 1}T00:00:00.000Z`,
      milliseconds: 1,
      load: { foreign, steal: 0 },
      subjects,
    };
  });
  const journal = {
    header: { versions: {} },
    groups: new Map([['sitting', { rounds: lines, finished: true }]]),
  };
  return outcomeOf(of, journal as unknown as JournalContent);
}

const onlyRow = ({ rows }: TableOutcome): RowOutcome => {
  const [row] = rows;
  if (!row) throw new Error('no row');
  return row;
};
const thrice = (figures: Figures) => [figures, figures, figures];

describe('the outcome of a row', () => {
  it('compares ours with the best peer that completed the row', () => {
    const outcome = outcomeFrom(thrice({ ours: 5, control: 5, fast: 10, slow: 20, floor: 4 }));
    expect(sentenceOf(outcome)).toBe(
      'Our chair is 2.00 times faster than fast, the fastest peer, in the kitchen (98 % interval 2.00 to 2.00).',
    );
    const row = onlyRow(outcome);
    expect(row.subjects.map(({ ratio }) => ratio?.median ?? null)).toEqual([
      null,
      expect.closeTo(2),
      expect.closeTo(4),
      expect.closeTo(0.8),
    ]);
  });

  it('has the worst round, and the processor time beside a figure', () => {
    const rows = table.rows.map((row) => ({ ...row, processorTime: 'time' }));
    const rounds = [
      { ours: 5, control: 5, fast: 10 },
      { ours: 20, control: 5, fast: 10 },
      { ours: 5, control: 5, fast: 40 },
    ];
    const row = onlyRow(outcomeFrom(rounds, { ...table, rows }));
    expect(row.ratio?.median).toBeCloseTo(2);
    expect(row.worstRatio).toBeCloseTo(0.5);
    expect(row.ours?.processorTime).toBe(5);
    expect(onlyRow(outcomeFrom(rounds)).ours?.processorTime).toBeNull();
  });

  it('has no verdict while other programs use the cores that the row needs', () => {
    const rounds = thrice({ ours: 5, control: 5, fast: 10 });
    const rows = table.rows.map((row) => ({ ...row, needsIdleCores: true as const }));
    const verdict = (of: Table, foreign: number) =>
      onlyRow(outcomeFrom(rounds, of, foreign)).verdict;
    expect(verdict({ ...table, rows }, 0.3)).toBe('unknown');
    expect(verdict({ ...table, rows }, 0.05)).toBe('faster');
    expect(verdict(table, 0.3)).toBe('faster');
    expect(sentenceOf(outcomeFrom(rounds, { ...table, rows }, 0.3))).toBe(
      'Our chair seems at least 2.00 times faster than fast, the fastest peer, in the kitchen (98 % interval 2.00 to 2.00; other programs used 30 % of the processors, and this row is about idle ones).',
    );
  });

  it('takes the ratio inside a turn, so that a machine that slows down does so for both', () => {
    const ours = [5, 50, 5, 500];
    const rounds = thrice({ ours, control: ours, fast: ours.map((time) => time * 3) });
    expect(onlyRow(outcomeFrom(rounds)).ratio?.median).toBeCloseTo(3);
  });

  it('compares the medians where the work is not sliced, however many samples there are', () => {
    const [sitting] = table.cells;
    const cells = [{ ...sitting, whole: 'it is sat on once' }];
    const ours = [1, 1, 1, 10, 10];
    for (const fast of [[2, 12, 12, 12, 2], [12], [2, 12, 12, 12]]) {
      const rounds = thrice({ ours, control: ours, fast });
      expect(onlyRow(outcomeFrom(rounds, { ...table, cells } as Table)).ratio?.median).toBeCloseTo(
        12,
      );
    }
  });

  it('compares ours in each round with the peer that was best in the others', () => {
    const rounds = [
      { ours: 10, control: 10, fast: 20, slow: 15 },
      { ours: 10, control: 10, fast: 20, slow: 30 },
      { ours: 10, control: 10, fast: 20, slow: 30 },
    ];
    const row = onlyRow(outcomeFrom(rounds));
    // In the first round the others prefer `fast`; in the other two `slow` seems best for its lucky round.
    expect(row.bestPeer?.subject.name).toBe('fast');
    expect(row.ratio?.median).toBeCloseTo(Math.cbrt(2 * 2 * 2), 5);
  });

  it('is faster only if it is faster than the peer that is best over all rounds', () => {
    // Each peer is lucky in one round, for which the others choose another peer.
    const rounds = [
      { ours: 10, control: 10, fast: 10, slow: 12 },
      { ours: 10, control: 10, fast: 12.1, slow: 10 },
      { ours: 10, control: 10, fast: 12, slow: 12 },
    ];
    const outcome = outcomeFrom(rounds);
    const row = onlyRow(outcome);
    expect(row.ratio?.low).toBeGreaterThan(1);
    expect(row.bestPeer?.ratio?.low).toBeLessThan(1);
    expect(row.verdict).toBe('unknown');
    expect(sentenceOf(outcome)).toContain('; which peer is the fastest is not certain).');
  });

  it('is judged by processor time where the row says so, and shows both', () => {
    const rows = table.rows.map((row) => ({
      ...row,
      ...{ measure: 'wall', processorTime: 'time', judgedByProcessorTime: true as const },
    }));
    const row = onlyRow(outcomeFrom(thrice({ ours: 5, control: 5, fast: 10 }), { ...table, rows }));
    expect(row.ratio?.median).toBeCloseTo(2);
    expect(row.ours).toMatchObject({ processorTime: 5, value: { median: 1 } });
  });

  it('says so when ours is slower', () => {
    const outcome = outcomeFrom(thrice({ ours: 12, control: 12, fast: 10, slow: 20 }));
    expect(sentenceOf(outcome)).toBe(
      'Our chair is 1.20 times slower than fast, the fastest peer, in the kitchen (98 % interval 1.20 to 1.20).',
    );
  });

  it('says so when the difference is within the noise', () => {
    const outcome = outcomeFrom(thrice({ ours: 10, control: 13, fast: 12 }));
    expect(outcome.rows[0]?.verdict).toBe('unknown');
    expect(sentenceOf(outcome)).toBe(
      'Our chair seems at least 1.20 times faster than fast, the fastest peer, in the kitchen (98 % interval 1.20 to 1.20; too noisy: two runs of the same code differed by up to 30 %).',
    );
  });

  it('counts a subject that failed once as failed, however fast it was', () => {
    const rounds = [
      { ours: 5, control: 5, fast: 1, slow: 20 },
      { ours: 5, control: 5, fast: 'counted 4 of 5', slow: 20 },
      { ours: 5, control: 5, slow: 20 },
    ];
    const row = onlyRow(outcomeFrom(rounds));
    expect(row.bestPeer?.subject.name).toBe('slow');
    expect(row.subjects[1]).toMatchObject({ ok: false, note: 'counted 4 of 5', value: null });
  });

  it('has no verdict when ours failed, even as its own control', () => {
    const rounds = [
      ...thrice({ ours: 5, control: 5, fast: 10 }),
      { ours: 5, control: 'no', fast: 9 },
    ];
    const outcome = outcomeFrom(rounds);
    expect(onlyRow(outcome)).toMatchObject({
      verdict: 'unknown',
      ratio: null,
      ours: { ok: false },
    });
    expect(sentenceOf(outcome)).toBe(
      'No verdict yet on Our chair in the kitchen: ours failed the row (no).',
    );
  });

  it('compares nothing in a row that only the table of the document shows', () => {
    const rows = table.rows.map((row) => ({ ...row, aside: true as const }));
    const outcome = outcomeFrom(thrice({ ours: 5, control: 5, fast: 10 }), { ...table, rows });
    expect(onlyRow(outcome)).toMatchObject({ ratio: null, verdict: 'unknown' });
    expect(onlyRow(outcome).ours?.value?.median).toBe(5);
    expect(describeTally(outcome)).toContain('0 rows');
  });

  it('has no verdict without a peer or with too few rounds', () => {
    expect(sentenceOf(outcomeFrom(thrice({ ours: 5, control: 5, fast: 'fell over' })))).toBe(
      'No verdict yet on Our chair in the kitchen: no peer completed the row.',
    );
    expect(sentenceOf(outcomeFrom([{ ours: 5, control: 5, fast: 10 }]))).toBe(
      'No verdict yet on Our chair in the kitchen: 1 round of at least 3.',
    );
  });
});

describe('the headline', () => {
  it('is the geometric mean over the rows of the document, if the table says so', () => {
    const rowOf = (name: string) => ({
      ...{ row: name, cell: 'sitting', measure: name, unit: 'ms', better: 'lower' as const },
      ...{ column: name, about: 'How long it takes.' },
    });
    const rows = [
      rowOf('time'),
      rowOf('wall'),
      { ...rowOf('time'), row: 'ours', column: undefined },
    ];
    const mean = {
      ...table,
      rows,
      headline: { ours: 'Ours', where: 'here', isMean: true as const },
    };
    const { headline } = outcomeFrom(
      thrice({ ours: 5, control: 5, fast: 20, slow: 45 }),
      mean as Table,
    );
    expect(headline?.rows.map(({ row }) => row.row)).toEqual(['time', 'wall']);
    expect(headline?.ratio?.median).toBeCloseTo(2);
    expect(headline).toMatchObject({ bestPeer: { name: 'fast' }, verdict: 'faster', rounds: 3 });
  });
});

describe('a headline over several cells', () => {
  const rowIn = (cell: string) => ({
    ...{ row: cell, cell, measure: 'time', unit: 'ms', better: 'lower' as const },
    ...{ column: cell, about: 'How long it takes.' },
  });
  const [sitting] = table.cells;
  if (!sitting) throw new Error('no cell');
  const mean: Table = {
    ...table,
    headline: { ours: 'Our chair', where: 'in the kitchen', isMean: true },
    headlineCells: 2,
    cells: [sitting, { ...sitting, id: 'standing' }],
    rows: [rowIn('sitting'), rowIn('standing')],
  };
  const bothFrom = (sittings: readonly Figures[], standings: readonly Figures[]) => {
    const [{ journal }, other] = [outcomeFrom(sittings, mean), outcomeFrom(standings, mean)];
    const standing = other.journal.groups.get('sitting');
    if (standing) journal.groups.set('standing', standing);
    return outcomeOf(mean, journal);
  };
  const good = thrice({ ours: 5, control: 5, fast: 20, slow: 45 });

  it('has no verdict if ours failed one of its rows, and says so', () => {
    const outcome = bothFrom(good, thrice({ ours: 'fell over', fast: 20, slow: 45 }));
    expect(outcome.headline).toMatchObject({ ratio: null, verdict: 'unknown', peers: [] });
    expect(sentenceOf(outcome)).toBe(
      'No verdict yet on Our chair in the kitchen: ours failed the row (fell over).',
    );
    expect(openCells(mean, outcome.journal, mean.cells).size).toBe(0);
  });

  it('compares only the peers that completed every row', () => {
    const { headline } = bothFrom(good, thrice({ ours: 5, control: 5, fast: 'no', slow: 45 }));
    expect(headline?.peers.map(({ subject }) => subject.name)).toEqual(['slow']);
    expect(headline?.ratio?.median).toBeCloseTo(9);
  });

  it('has no verdict until all of its rows have been measured', () => {
    const outcome = outcomeFrom(good, mean);
    expect(outcome.headline).toBeUndefined();
    expect(sentenceOf(outcome)).toBe(
      'No verdict yet on Our chair in the kitchen: its rows have not all been measured.',
    );
  });
});

describe('further rounds', () => {
  const openIn = (outcome: TableOutcome) => {
    const { table: of, journal } = outcome;
    return [...openCells(of, journal, of.cells).values()].map((peers) => [...peers]);
  };

  it('go to a cell without a certain verdict, for the peers near the best', () => {
    const noisy = [
      { ours: 10, control: 11, fast: 9, slow: 90 },
      { ours: 10, control: 9, fast: 14, slow: 60 },
      { ours: 10, control: 10, fast: 10, slow: 70 },
    ];
    expect(openIn(outcomeFrom(noisy))).toEqual([['fast']]);
  });

  it('do not go to a cell whose verdict is certain, or in which nothing is compared', () => {
    expect(openIn(outcomeFrom(thrice({ ours: 5, control: 5, fast: 10 })))).toEqual([]);
    expect(openIn(outcomeFrom(thrice({ ours: 5, control: 5, fast: 'fell over' })))).toEqual([]);
  });
});
