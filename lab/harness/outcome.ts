/**
 * The outcome of a table, from its journal: each row with its subjects, ratios, noise and verdicts.
 *
 * The results file and the report both come from here, so they cannot disagree. Invariant:
 * computed from the table's description and the journal alone; the same journal gives the same
 * outcome.
 */
import { max, mean, median, min } from 'simple-statistics';
import type { GroupRound, JournalContent, SubjectRound } from './journal.js';
import { foreignLimit } from './load.js';
import {
  type Estimate,
  estimate,
  estimateRatio,
  judge,
  noiseFloor,
  ratios,
  type Series,
  type Verdict,
} from './statistics.js';
import type { Behaviour, Behaviours, Cell, Row, Subject, Table } from './table.js';
import { cellOf, oursIn, subjectOf } from './tables.js';

export interface SubjectOutcome {
  readonly subject: Subject;
  readonly version: string | null;
  readonly ok: boolean;
  /** Whether the subject is not `ok` only because it is not installed here. */
  readonly unavailable: boolean;
  /** How the subject failed, or the note of its last run. */
  readonly note: string;
  /** Whether it did less work than the others, so that it cannot be the best peer. */
  readonly unequal: boolean;
  readonly value: Estimate | null;
  /** The processor time of one task or call, in microseconds, where the row has it. */
  readonly processorTime: number | null;
  /** Ours against this subject; above 1, ours is better. */
  readonly ratio: Estimate | null;
  /** The lowest ratio of a round. */
  readonly worstRatio: number | null;
  readonly verdict: Verdict;
  /** All samples, by round. */
  readonly samples: ReadonlyMap<number, readonly number[]>;
}

export interface RowOutcome {
  readonly row: Row;
  readonly cell: Cell;
  readonly rounds: number;
  readonly subjects: readonly SubjectOutcome[];
  readonly ours: SubjectOutcome | null;
  readonly bestPeer: SubjectOutcome | null;
  readonly ratio: Estimate | null;
  /** The lowest ratio of a round to the best peer. */
  readonly worstRatio: number | null;
  readonly verdict: Verdict;
  /** The factor by which ours seems to differ from itself. */
  readonly noise: number | null;
  /** Rounds that were measured again because others disturbed them. */
  readonly repeatedRounds: number;
  /** Rounds that stayed disturbed. */
  readonly disturbedRounds: number;
  readonly foreignShare: number | null;
}

/** The behaviour of each subject of a cell, in words. */
export interface BehavioursOutcome {
  readonly behaviours: Behaviours;
  readonly subjects: readonly {
    readonly subject: Subject;
    readonly version: string | null;
    /** By column; a missing column was not tried. */
    readonly found: Readonly<Record<string, Behaviour>>;
    /** Why there is no finding. */
    readonly note: string;
  }[];
}

export interface TableOutcome {
  readonly table: Table;
  readonly journal: JournalContent;
  /** When the last round ended. */
  readonly date: string;
  /** The minimum over all rows. */
  readonly rounds: number;
  readonly rows: readonly RowOutcome[];
  /** The rows without any measurement. */
  readonly unmeasured: readonly Row[];
  readonly behaviours: readonly BehavioursOutcome[];
  readonly foreignShare: number | null;
  readonly stealShare: number | null;
}

export function outcomeOf(table: Table, journal: JournalContent): TableOutcome {
  const measured = table.rows.filter((row) => roundsOf(journal, row.cell).length > 0);
  const rows = measured.map((row) => outcomeOfRow(table, journal, row));
  const rounds = [...journal.groups.values()].flatMap((group) => group.rounds);
  return {
    table,
    journal,
    date:
      rounds
        .map((round) => round.date)
        .sort()
        .at(-1) ?? '',
    rounds: rows.length === 0 ? 0 : min(rows.map((row) => row.rounds)),
    rows,
    unmeasured: table.rows.filter(
      (row) => !measured.includes(row) && cellOf(table, row.cell).subjects.length > 0,
    ),
    behaviours: (table.behaviours ?? [])
      .filter(({ cell }) => roundsOf(journal, cell).length > 0)
      .map((behaviours) => behavioursOf(table, journal, behaviours)),
    foreignShare: meanLoad(rounds, 'foreign'),
    stealShare: meanLoad(rounds, 'steal'),
  };
}

function behavioursOf(
  table: Table,
  journal: JournalContent,
  behaviours: Behaviours,
): BehavioursOutcome {
  const runs = roundsOf(journal, behaviours.cell).flatMap(({ subjects }) => subjects);
  const subjects = cellOf(table, behaviours.cell).subjects.flatMap((name) => {
    const run = runs.findLast((candidate) => candidate.subject === name);
    if (!run) return [];
    const subject = subjectOf(table, name);
    const version = versionOf(journal, subject);
    return [{ subject, version, found: run.behaviours ?? {}, note: run.note }];
  });
  return { behaviours, subjects };
}

function versionOf({ header }: JournalContent, subject: Subject): string | null {
  return header.versions[subject.package ?? subject.name] ?? null;
}

function roundsOf(journal: JournalContent, cell: string): readonly GroupRound[] {
  return journal.groups.get(cell)?.rounds ?? [];
}

function meanLoad(rounds: readonly GroupRound[], share: 'foreign' | 'steal'): number | null {
  const shares = rounds.flatMap((round) => round.load?.[share] ?? []);
  return shares.length === 0 ? null : mean(shares);
}

function outcomeOfRow(table: Table, journal: JournalContent, row: Row): RowOutcome {
  const cell = cellOf(table, row.cell);
  const rounds = roundsOf(journal, cell.id);
  const oursName = oursIn(table, cell);
  const oursRuns = runsOf(rounds, oursName);
  const oursValues = failureIn(oursRuns) ? new Map<number, number>() : valuesOf(oursRuns, row);
  const control = estimateRatio(
    ratios(oursValues, valuesOf(runsOf(rounds, oursName, true), row), row.better),
  );
  const noise = control && noiseFloor(control);

  const subjects = (row.subjects ?? cell.subjects)
    .filter((name) => runsOf(rounds, name).size > 0)
    .map((name): SubjectOutcome => {
      const subject = subjectOf(table, name);
      const runs = runsOf(rounds, name);
      const failure = failureIn(runs);
      const values = failure ? new Map<number, number>() : valuesOf(runs, row);
      const paired = name === oursName || row.aside ? [] : ratios(oursValues, values, row.better);
      const ratio = estimateRatio(paired);
      return {
        subject,
        version: versionOf(journal, subject),
        ok: failure === undefined,
        unavailable: failure?.unavailable === true,
        note: failure?.note ?? [...runs.values()].at(-1)?.note ?? '',
        unequal: [...runs.values()].some((run) => run.unequal !== undefined),
        value: estimate([...values.values()]),
        processorTime: failure ? null : processorTimeOf(runs, row),
        ratio,
        worstRatio: paired.length === 0 ? null : min(paired),
        verdict: judge(ratio, paired.length, noise),
        samples: failure ? new Map() : samplesOf(runs, row),
      };
    });

  const bestPeer = bestPeerOf(subjects, row);
  return {
    row,
    cell,
    rounds: rounds.length,
    subjects,
    ours: subjects.find(({ subject }) => subject.name === oursName) ?? null,
    bestPeer,
    ratio: bestPeer?.ratio ?? null,
    worstRatio: bestPeer?.worstRatio ?? null,
    verdict: bestPeer?.verdict ?? 'unknown',
    noise,
    repeatedRounds: rounds.filter((round) => round.attempts > 1).length,
    disturbedRounds: rounds.filter((round) => (round.load?.foreign ?? 0) > foreignLimit).length,
    foreignShare: meanLoad(rounds, 'foreign'),
  };
}

/** Returns the notes about a subject. */
export function noteOf({ ok, note, subject }: SubjectOutcome): string {
  return [note, ok ? subject.note : ''].filter(Boolean).join('; ');
}

/** Returns the best peer among those that did the full work. */
function bestPeerOf(subjects: readonly SubjectOutcome[], row: Row): SubjectOutcome | null {
  const candidates = subjects.filter(
    ({ subject, value, unequal }) => subject.role === 'peer' && value && !unequal,
  );
  if (candidates.length === 0) return null;
  const medians = candidates.map(({ value }) => value?.median ?? Number.NaN);
  const best = row.better === 'higher' ? max(medians) : min(medians);
  return candidates[medians.indexOf(best)] ?? null;
}

type Runs = ReadonlyMap<number, SubjectRound>;

function runsOf(rounds: readonly GroupRound[], name: string | undefined, control = false): Runs {
  return new Map(
    rounds.flatMap(({ round, subjects }) => {
      const run = subjects.findLast(
        (candidate) =>
          candidate.subject === name && (!candidate.ok || candidate.control === control),
      );
      return run ? [[round, run] as const] : [];
    }),
  );
}

function failureIn(runs: Runs): SubjectRound | undefined {
  return [...runs.values()].find((run) => !run.ok);
}

function samplesOf(runs: Runs, { measure }: Pick<Row, 'measure'>): Map<number, readonly number[]> {
  return new Map(
    [...runs].flatMap(([round, run]) => {
      const samples = run.samples[measure];
      return samples && samples.length > 0 ? [[round, samples] as const] : [];
    }),
  );
}

function processorTimeOf(runs: Runs, { processorTime }: Row): number | null {
  if (processorTime === undefined) return null;
  const values = [...valuesOf(runs, { measure: processorTime }).values()];
  return values.length === 0 ? null : median(values);
}

function valuesOf(runs: Runs, row: Pick<Row, 'measure'>): Series {
  return new Map(
    [...samplesOf(runs, row)].map(([round, samples]) => [round, median([...samples])] as const),
  );
}
