/**
 * The one sentence that a table comes down to: who is how many times faster than whom.
 *
 * Invariant: it says no more than the verdict does; a row that was lost or is level says so.
 */

import type { RowOutcome, TableOutcome } from '../harness/outcome.js';
import type { Estimate } from '../harness/statistics.js';
import { fewestRounds } from '../harness/statistics.js';
import { counted, describeRatio, describeRatioInterval } from './format.js';

/** The sentence in its parts; the page sets the figure apart and holds back the interval. */
export interface Sentence {
  readonly before: string;
  readonly figure: string;
  readonly after: string;
  readonly interval: string;
}

export function sentenceOf(outcome: TableOutcome): string {
  const { before, figure, after, interval } = sentencePartsOf(outcome);
  return `${before}${figure}${after}${interval && ` (${interval})`}.`;
}

/** The first row of the first cell, if it has been measured. */
export function headlineRow({ table, rows }: TableOutcome): RowOutcome | undefined {
  return rows.find(({ cell }) => cell.id === table.cells[0]?.id);
}

export function sentencePartsOf(outcome: TableOutcome): Sentence {
  const { table } = outcome;
  const row = headlineRow(outcome);
  const ours = table.headline?.ours ?? table.title;
  const where = table.headline === undefined ? '' : ` ${table.headline.where}`;
  const peer = row?.bestPeer?.subject.name;
  const ratio = row?.ratio;
  if (!row || !ratio || !peer || row.verdict === 'unknown') {
    const before = `No verdict yet on ${ours}${where}: ${lack(row)}`;
    return { before, figure: '', after: '', interval: '' };
  }
  const disturbed =
    row.disturbedRounds === 0
      ? ''
      : `; others kept the machine busy in ${row.disturbedRounds} of ${counted(row.rounds, 'round')}, so measure again`;
  const interval = (of: Estimate) => `95 % interval ${describeRatioInterval(of)}${disturbed}`;
  if (row.verdict === 'faster') {
    return {
      before: `${ours} is `,
      figure: `${describeRatio(ratio.median)} times faster`,
      after: ` than ${peer}, the fastest peer${where && `,${where}`}`,
      interval: interval(ratio),
    };
  }
  if (row.verdict === 'slower') {
    const inverse = { median: 1 / ratio.median, low: 1 / ratio.high, high: 1 / ratio.low };
    return {
      before: `${ours} is `,
      figure: `${describeRatio(inverse.median)} times slower`,
      after: ` than ${peer}, the fastest peer${where && `,${where}`}`,
      interval: interval(inverse),
    };
  }
  return {
    before: `${ours} and ${peer}, the fastest peer, show `,
    figure: 'no difference',
    after: where,
    interval: `ratio ${describeRatio(ratio.median)}, ${interval(ratio)}`,
  };
}

function lack(row: RowOutcome | undefined): string {
  if (!row) return 'its first row has not been measured';
  if (row.ours && !row.ours.ok) return `it failed the row (${row.ours.note})`;
  if (!row.bestPeer) return 'no peer did the work';
  return `${counted(row.rounds, 'round')} where at least ${fewestRounds} are needed`;
}
