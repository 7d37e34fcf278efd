/**
 * `lab/out/<table>.json`, for other tools. Its shape is stable.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { nearestFloor } from './floor.js';
import { noteOf, type RowOutcome, type TableOutcome } from './outcome.js';
import type { Better, Estimate, Verdict } from './statistics.js';

export interface Results {
  readonly table: string;
  readonly date: string;
  readonly machine: object;
  readonly rounds: number;
  readonly rows: readonly ResultRow[];
}

export interface ResultRow {
  readonly row: string;
  readonly unit: string;
  readonly better: Better;
  /** The median of the floor nearest to ours. */
  readonly floor: number | null;
  readonly published: Readonly<Record<string, number>> | null;
  readonly subjects: readonly ResultSubject[];
  readonly best_peer: string | null;
  /** Above 1, ours is that many times better than the best peer. */
  readonly ratio: number | null;
  readonly ratio_low: number | null;
  readonly ratio_high: number | null;
  readonly verdict: Verdict;
}

export interface ResultSubject {
  readonly subject: string;
  readonly version: string | null;
  readonly ok: boolean;
  readonly median: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly note: string;
}

export function resultsOf(outcome: TableOutcome): Results {
  const { header } = outcome.journal;
  return {
    table: outcome.table.table,
    date: outcome.date,
    machine: {
      ...header.machine,
      wake_up_microseconds: round(header.wakeUpMicroseconds),
      foreign_share: round(outcome.foreignShare),
      steal_share: round(outcome.stealShare),
    },
    rounds: outcome.rounds,
    rows: outcome.rows.map(resultRowOf),
  };
}

function resultRowOf(outcome: RowOutcome): ResultRow {
  const { row, subjects, ratio } = outcome;
  return {
    row: row.row,
    unit: row.unit,
    better: row.better,
    floor: round(nearestFloor(outcome)?.median),
    published: row.published ?? null,
    subjects: subjects
      .filter(({ subject }) => subject.role !== 'floor')
      .map((found) => ({
        subject: found.subject.name,
        version: found.version,
        ok: found.ok,
        ...rounded(found.value),
        note: noteOf(found),
      })),
    best_peer: outcome.bestPeer?.subject.name ?? null,
    ratio: round(ratio?.median),
    ratio_low: round(ratio?.low),
    ratio_high: round(ratio?.high),
    verdict: outcome.verdict,
  };
}

function rounded(value: Estimate | null): Pick<ResultSubject, 'median' | 'low' | 'high'> {
  return { median: round(value?.median), low: round(value?.low), high: round(value?.high) };
}

function round(value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value.toPrecision(6));
}

export function writeResults(path: string, results: Results): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`);
}
