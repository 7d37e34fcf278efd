/**
 * The outcome of a table, from its journal: each row with its subjects, ratios, noise and verdicts.
 *
 * The results file and the report both come from here, so they cannot disagree. Invariant: computed from the table's
 * description and the journal alone; the same journal gives the same outcome.
 */
import { max, mean, min } from 'simple-statistics';
import type { GroupRound, JournalContent } from './journal.js';
import {
  failureIn,
  foundSamplesOf,
  medianOf,
  type Runs,
  runsOf,
  samplesOf,
  valuesOf,
} from './runs.js';
import {
  bestOf,
  type Estimate,
  estimate,
  estimateRatio,
  judge,
  judgeAgainstBest,
  meanOfSeries,
  middle,
  noiseFloor,
  ratioInRound,
  type Series,
  seriesOfBest,
  type Turns,
  type Verdict,
} from './statistics.js';
import type { Behaviour, Behaviours, Cell, Row, Subject, Table } from './table.js';
import { cellOf, oursIn, subjectOf } from './tables.js';

/** Other programs may use this share of the processors in a row that needs idle cores. */
const mostForeignShare = 0.1;

/** The note of a subject says so if its process uses more of a core than this between its slices. */
const mostIdleShare = 0.03;

export interface SubjectOutcome {
  readonly subject: Subject;
  readonly version: string | null;
  readonly ok: boolean;
  /** Whether the subject is not `ok` only because it is not installed here. */
  readonly unavailable: boolean;
  /** How the subject failed, or the note of its last run. */
  readonly note: string;
  /** Whether it broke a promise that others keep, so that it cannot be the best peer. */
  readonly unequal: boolean;
  /** The largest share of a core that it used while other subjects took their turns; null if not known. */
  readonly idleShare: number | null;
  readonly value: Estimate | null;
  /** The processor time of one task or call, in microseconds, where the row has it. */
  readonly processorTime: number | null;
  /** Ours against this subject, by round, in logarithms. */
  readonly series: Series;
  /** Above 1, ours is better. */
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
  /** To the best peer; in each round the peer that was best in the others. */
  readonly ratio: Estimate | null;
  /** The lowest ratio of a round to the best peer. */
  readonly worstRatio: number | null;
  readonly verdict: Verdict;
  /** The ratio between the two processes of ours, by round, in logarithms. */
  readonly control: Series;
  /** The factor by which ours may seem to differ from itself. */
  readonly noise: number | null;
  readonly foreignShare: number | null;
}

/** A peer, and how many times better ours is, by round, in logarithms. */
export type Peer = Pick<SubjectOutcome, 'subject' | 'series'>;

/** The result that the table's sentence states: the first row's, or the mean over the document's rows. */
export interface Headline {
  readonly rows: readonly RowOutcome[];
  /** The peers that have a ratio in all of its rows. */
  readonly peers: readonly Peer[];
  readonly bestPeer: Subject | null;
  readonly rounds: number;
  readonly ratio: Estimate | null;
  readonly verdict: Verdict;
  readonly noise: number | null;
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
  /** Undefined until its rows have been measured. */
  readonly headline: Headline | undefined;
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
    headline: headlineOf(table, rows),
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
  const hasFailed = failureIn(oursRuns) !== undefined;
  const judged = { ...row, measure: judgedMeasureOf(row) };
  const against = (runs: Runs) =>
    hasFailed || failureIn(runs)
      ? new Map<number, number>()
      : seriesOf(oursRuns, runs, judged, cell.whole === undefined);
  const control = against(runsOf(rounds, oursName, true));
  const controlRatio = control.size === 0 ? null : estimateRatio(control);
  const noise = controlRatio && noiseFloor(controlRatio);

  const subjects = (row.subjects ?? cell.subjects)
    .filter((name) => runsOf(rounds, name).size > 0)
    .map((name): SubjectOutcome => {
      const subject = subjectOf(table, name);
      const runs = runsOf(rounds, name);
      const failure = failureIn(runs);
      const values = failure ? [] : valuesOf(runs, row.measure);
      const series: Series =
        name === oursName || row.aside ? new Map<number, number>() : against(runs);
      const ratio = estimateRatio(series);
      const idleShares = [...runs.values()].flatMap(({ idleShare }) => idleShare ?? []);
      return {
        subject,
        version: versionOf(journal, subject),
        ok: failure === undefined,
        unavailable: failure?.unavailable === true,
        note: failure?.note ?? [...runs.values()].at(-1)?.note ?? '',
        unequal: [...runs.values()].some((run) => run.unequal !== undefined),
        idleShare: idleShares.length === 0 ? null : max(idleShares),
        value: estimate(values),
        processorTime: failure || !row.processorTime ? null : medianOf(runs, row.processorTime),
        series,
        ratio,
        worstRatio: worstOf(series),
        verdict: judge(ratio, series.size, noise),
        samples: failure ? new Map() : foundSamplesOf(runs, row.measure),
      };
    });

  const peers = peersAmong(subjects);
  const all = peers.map(({ series }) => series);
  const best = seriesOfBest(all);
  const foreignShare = meanLoad(rounds, 'foreign');
  return {
    row,
    cell,
    rounds: rounds.length,
    subjects,
    ours: subjects.find(({ subject }) => subject.name === oursName) ?? null,
    bestPeer: bestPeerOf(peers, row),
    ratio: estimateRatio(best),
    worstRatio: worstOf(best),
    verdict: lacksIdleCores(row, foreignShare) ? 'unknown' : judgeAgainstBest(all, noise),
    control,
    noise,
    foreignShare,
  };
}

/** Whether other programs used cores that the row needs. */
export function lacksIdleCores({ needsIdleCores }: Row, foreignShare: number | null): boolean {
  return needsIdleCores === true && (foreignShare ?? 0) > mostForeignShare;
}

/** The measure that decides about the row. */
export function judgedMeasureOf({ measure, processorTime, judgedByProcessorTime }: Row): string {
  return judgedByProcessorTime ? (processorTime ?? measure) : measure;
}

function seriesOf(
  ours: Runs,
  other: Runs,
  { measure, processorTime, better }: Row,
  isSliced: boolean,
): Series {
  // Less processor time is better, in a row of either direction.
  const direction = measure === processorTime ? 'lower' : better;
  // Only the samples of slices have neighbours in time.
  const turnsOf = (samples: Turns = []) => (isSliced ? samples : [middle(samples) ?? null]);
  const theirs = samplesOf(other, measure);
  return new Map(
    [...samplesOf(ours, measure)].flatMap(([round, mine]) => {
      const ratio = ratioInRound(turnsOf(mine), turnsOf(theirs.get(round)), direction);
      return ratio === undefined ? [] : [[round, ratio] as const];
    }),
  );
}

function worstOf(series: Series): number | null {
  return series.size === 0 ? null : Math.exp(min([...series.values()]));
}

/** The peers that did the work and kept the promises that others keep. */
function peersAmong(subjects: readonly SubjectOutcome[]): readonly SubjectOutcome[] {
  return subjects.filter(
    ({ subject, ok, value, unequal }) => subject.role === 'peer' && ok && value && !unequal,
  );
}

/** The peer against which ours is worst; without ours, the one with the best figure. */
function bestPeerOf(peers: readonly SubjectOutcome[], { better }: Row): SubjectOutcome | null {
  const compared = peers.filter(({ series }) => series.size > 0);
  if (compared.length > 0) {
    const best = bestOf(compared.map(({ series }) => series));
    return compared.find(({ series }) => series === best) ?? null;
  }
  if (peers.length === 0) return null;
  const medians = peers.map(({ value }) => value?.median ?? Number.NaN);
  const best = better === 'higher' ? max(medians) : min(medians);
  return peers[medians.indexOf(best)] ?? null;
}

function headlineIds({ cells, headlineCells = 1 }: Table): readonly string[] {
  return cells.slice(0, headlineCells).map(({ id }) => id);
}

/** The rows of the headline, of those given. */
function headlineRowsOf(table: Table, rows: readonly RowOutcome[]): readonly RowOutcome[] {
  const ids = headlineIds(table);
  if (!table.headline?.isMean) return rows.filter(({ cell }) => cell.id === ids[0]).slice(0, 1);
  return rows.filter(({ row }) => isInMean(table, row));
}

function isInMean(table: Table, { column, aside, cell }: Row): boolean {
  return column !== undefined && !aside && headlineIds(table).includes(cell);
}

/** Returns whether no row of a mean is missing; one without subjects is never measured. */
function isMeanComplete(table: Table, rows: readonly RowOutcome[]): boolean {
  const wanted = table.rows.filter(
    (row) => isInMean(table, row) && cellOf(table, row.cell).subjects.length > 0,
  );
  return wanted.length === rows.length;
}

function headlineOf(table: Table, rows: readonly RowOutcome[]): Headline | undefined {
  const of = headlineRowsOf(table, rows);
  const [first] = of;
  if (!first || (table.headline?.isMean && !isMeanComplete(table, of))) return undefined;
  const rounds = min(of.map((row) => row.rounds));
  if (of.length === 1) {
    const { bestPeer, ratio, verdict, noise } = first;
    const best = bestPeer?.subject ?? null;
    return {
      rows: of,
      peers: peersOf(first.subjects),
      bestPeer: best,
      rounds,
      ratio,
      verdict,
      noise,
    };
  }
  // A peer that failed one of the rows would have the mean of other work.
  const peers = peersAmong(first.subjects).flatMap(({ subject }) => {
    const everywhere = of.map(({ subjects }) =>
      peersAmong(subjects).find((found) => found.subject.name === subject.name),
    );
    const all = everywhere.flatMap((found) => found?.series ?? []);
    const series = meanOfSeries(all);
    return all.length === of.length && series.size > 0 ? [{ subject, series }] : [];
  });
  const series = peers.map((peer) => peer.series);
  const ratio = estimateRatio(seriesOfBest(series));
  const control = estimateRatio(meanOfSeries(of.map((row) => row.control)));
  const noise = control && noiseFloor(control);
  const bestPeer = peers.find((peer) => peer.series === bestOf(series))?.subject ?? null;
  const verdict = judgeAgainstBest(series, noise);
  return { rows: of, peers, bestPeer, rounds, ratio, verdict, noise };
}

/** Further rounds leave out a peer that is further from the best one than this factor. */
const nearBest = 1.5;

/**
 * Returns the cells in which further rounds may make a verdict certain, that of the headline or of a row; each with the
 * peers that may be the best. All other cells need no further rounds.
 */
export function openCells(
  table: Table,
  journal: JournalContent,
  cells: readonly Cell[],
): ReadonlyMap<Cell, ReadonlySet<string>> {
  const rowsOf = (cell: Cell) =>
    table.rows
      .filter((row) => row.cell === cell.id && roundsOf(journal, row.cell).length > 0)
      .map((row) => outcomeOfRow(table, journal, row))
      .filter(({ row }) => !row.aside);
  const measured = new Map(cells.map((cell) => [cell, rowsOf(cell)]));
  const headline = table.headline?.isMean
    ? headlineOf(table, [...measured.values()].flat())
    : undefined;
  const open = new Map<Cell, ReadonlySet<string>>();
  for (const [cell, rows] of measured) {
    const isOfHeadline = headline?.rows.some((row) => row.cell === cell);
    const judged =
      headline && isOfHeadline
        ? [headline]
        : rows.map((row) => ({ ...row, peers: peersOf(row.subjects) }));
    const uncertain = judged.filter(
      ({ ratio, verdict }) => ratio !== null && verdict === 'unknown',
    );
    const near = uncertain.flatMap(({ peers }) => nearTheBest(peers));
    if (near.length > 0) open.set(cell, new Set(near));
  }
  return open;
}

function peersOf(subjects: readonly SubjectOutcome[]): readonly Peer[] {
  return peersAmong(subjects).filter(({ series }) => series.size > 0);
}

function nearTheBest(peers: readonly Peer[]): string[] {
  const means = peers.map(({ series }) => mean([...series.values()]));
  const limit = Math.min(...means) + Math.log(nearBest);
  return peers.flatMap(({ subject }, index) =>
    (means[index] ?? Number.NaN) <= limit ? [subject.name] : [],
  );
}

/** Returns the notes about a subject. */
export function noteOf({ ok, note, subject, idleShare }: SubjectOutcome): string {
  const idle =
    ok && idleShare !== null && idleShare > mostIdleShare
      ? `uses ${Math.round(idleShare * 100)} % of a core while it is idle`
      : '';
  return [note, ok ? subject.note : '', idle].filter(Boolean).join('; ');
}
