/**
 * The one sentence that a table comes down to: who is how many times faster than whom.
 *
 * Invariant: it says no more than the verdict does. A row that was lost or is level says so; one without
 * a verdict says what is known, and why no more than that.
 */
import type { RowOutcome, TableOutcome } from '../harness/outcome.js';
import { type Estimate, fewestRounds, levelWithin } from '../harness/statistics.js';
import { counted, describeRatio, describeRatioInterval } from './format.js';
import { describeDoubt } from './verdict.js';

/** The sentence in its parts; the page sets the figure apart and holds back the interval. */
export interface Sentence {
  readonly before: string;
  readonly figure: string;
  readonly after: string;
  readonly interval: string;
  /** Why it is not as certain as it could be. */
  readonly doubt: string;
}

/** An interval as wide as this says how many times at least, not how many times. */
const wideFactor = 1.5;

export function sentenceOf(outcome: TableOutcome): string {
  const { before, figure, after, interval, doubt } = sentencePartsOf(outcome);
  const aside = [interval, doubt].filter(Boolean).join('; ');
  return `${before}${figure}${after}${aside && ` (${aside})`}.`;
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
  if (!row || !ratio || !peer || row.rounds < fewestRounds) {
    const why = row ? describeDoubt(row) : 'its first row has not been measured';
    return {
      before: `No verdict yet on ${ours}${where}: ${why}`,
      ...{ figure: '', after: '', interval: '', doubt: '' },
    };
  }
  const isKnown = row.verdict !== 'unknown';
  const doubt = [isKnown ? '' : describeDoubt(row), disturbance(row)].filter(Boolean).join('; ');
  const interval = (of: Estimate) => `95 % interval ${describeRatioInterval(of)}`;
  const than = ` than ${peer}, the fastest peer${where && `,${where}`}`;
  const isOrSeems = isKnown ? 'is' : 'seems';

  if (row.verdict === 'faster' || (!isKnown && ratio.low > levelWithin)) {
    return {
      before: `${ours} ${isOrSeems} `,
      figure: `${times(ratio, isKnown)} faster`,
      after: than,
      interval: interval(ratio),
      doubt,
    };
  }
  if (row.verdict === 'slower' || (!isKnown && ratio.high < 1 / levelWithin)) {
    const inverse = { median: 1 / ratio.median, low: 1 / ratio.high, high: 1 / ratio.low };
    return {
      before: `${ours} ${isOrSeems} `,
      figure: `${times(inverse, isKnown)} slower`,
      after: than,
      interval: interval(inverse),
      doubt,
    };
  }
  return {
    before: `${ours} and ${peer}, the fastest peer, show `,
    figure: isKnown ? 'no difference' : 'no certain difference',
    after: where,
    interval: `ratio ${describeRatio(ratio.median)}, ${interval(ratio)}`,
    doubt,
  };
}

/** What is certain is said: how many times, or where the interval is wide or doubted, at least. */
function times({ median, low, high }: Estimate, isKnown: boolean): string {
  return isKnown && high / low < wideFactor
    ? `${describeRatio(median)} times`
    : `at least ${describeRatio(low)} times`;
}

function disturbance({ disturbedRounds, rounds }: RowOutcome): string {
  if (disturbedRounds === 0) return '';
  const of = disturbedRounds === rounds ? 'all' : `${disturbedRounds} of`;
  return `others kept the machine busy in ${of} ${counted(rounds, 'round')}, so measure again`;
}
