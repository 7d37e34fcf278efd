/**
 * The sentence of a table: how many times faster our subject is than the fastest peer.
 *
 * Invariant: it claims no more than the verdict. It says so if ours is slower or level. Without a verdict it says what
 * is known, and why that is not certain.
 */
import type { Headline, RowOutcome, TableOutcome } from '../harness/outcome.js';
import { confidence, type Estimate, fewestRounds, levelWithin } from '../harness/statistics.js';
import { describeRatio, describeRatioInterval } from './format.js';
import { describeDoubt } from './verdict.js';

/** The parts of the sentence: the page highlights the figure and prints the interval small. */
export interface Sentence {
  readonly before: string;
  readonly figure: string;
  readonly after: string;
  readonly interval: string;
  /** Why the result is not certain. */
  readonly doubt: string;
}

/** If the interval is wider than this factor, only its lower end is stated: 'at least'. */
const wideFactor = 1.5;

export function isWide({ low, high }: Estimate): boolean {
  return high / low >= wideFactor;
}

export function sentenceOf(outcome: TableOutcome): string {
  return textOf(sentencePartsOf(outcome));
}

export function textOf({ before, figure, after, interval, doubt }: Sentence): string {
  const aside = [interval, doubt].filter(Boolean).join('; ');
  return `${before}${figure}${after}${aside && ` (${aside})`}.`;
}

/** The row whose chart stands beside the sentence. */
export function headlineRow({ headline }: TableOutcome): RowOutcome | undefined {
  return headline?.rows[0];
}

export function sentencePartsOf({ table, headline }: TableOutcome): Sentence {
  const ours = table.headline?.ours ?? table.title;
  const where = table.headline === undefined ? '' : ` ${table.headline.where}`;
  const [row] = headline?.rows ?? [];
  if (row && headline) return claim(ours, where, row, headline);
  const why = table.headline?.isMean
    ? 'its rows have not all been measured'
    : 'its first row has not been measured';
  return noVerdict(`${ours}${where}`, why);
}

/** The sentences beside the table's, one for each named row. */
export function besideOf({ table, rows }: TableOutcome): readonly Sentence[] {
  const names = table.headline?.beside ?? [];
  const ours = table.headline?.ours ?? table.title;
  return names.flatMap((name) => {
    const row = rows.find((candidate) => candidate.row.row === name);
    if (!row) return [];
    const bestPeer = row.bestPeer?.subject ?? null;
    return [
      claim(ours, ` in the row “${name}”`, row, { ...row, rows: [row], peers: [], bestPeer }),
    ];
  });
}

function noVerdict(what: string, why: string): Sentence {
  const before = `No verdict yet on ${what}: ${why}`;
  return { before, figure: '', after: '', interval: '', doubt: '' };
}

/** States a headline, whose first row is `row`. */
function claim(ours: string, where: string, row: RowOutcome, headline: Headline): Sentence {
  const { ratio, verdict } = headline;
  const peer = headline.bestPeer?.name;
  if (!ratio || !peer || headline.rounds < fewestRounds) {
    const failed = headline.rows.find(({ ours }) => ours && !ours.ok);
    return noVerdict(`${ours}${where}`, describeDoubt(failed ?? row, headline));
  }
  const isKnown = verdict !== 'unknown';
  const doubt = isKnown ? '' : describeDoubt(row, headline);
  const isByProcessorTime = headline.rows.every(({ row }) => row.judgedByProcessorTime);
  const interval = (of: Estimate) =>
    `${confidence} % interval ${describeRatioInterval(of)}${isByProcessorTime ? ', by processor time' : ''}`;
  const than = ` than ${peer}, the fastest peer${where && `,${where}`}`;
  const isOrSeems = isKnown ? 'is' : 'seems';

  if (verdict === 'faster' || (!isKnown && ratio.low > levelWithin)) {
    return {
      before: `${ours} ${isOrSeems} `,
      figure: `${times(ratio, isKnown)} faster`,
      after: than,
      interval: interval(ratio),
      doubt,
    };
  }
  if (verdict === 'slower' || (!isKnown && ratio.high < 1 / levelWithin)) {
    const inverse = inverseOf(ratio);
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

/** The ratio, or 'at least' its lower bound if the interval is wide or doubtful. */
export function inverseOf({ median, low, high }: Estimate): Estimate {
  return { median: 1 / median, low: 1 / high, high: 1 / low };
}

function times(ratio: Estimate, isKnown: boolean): string {
  return isKnown && !isWide(ratio)
    ? `${describeRatio(ratio.median)} times`
    : `at least ${describeRatio(ratio.low)} times`;
}
