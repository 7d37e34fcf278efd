/** The names of verdicts: as a CSS class, in words, and the reason if there is none. */
import { type Headline, lacksIdleCores, type RowOutcome } from '../harness/outcome.js';
import { fewestRounds, type Verdict } from '../harness/statistics.js';
import { counted, describeExcess } from './format.js';

/** The CSS class; only significant verdicts have a colour. */
export function verdictClass(verdict: Verdict): string {
  return verdict.replace(' ', '-');
}

export function verdictWord(verdict: Verdict): string {
  return verdict === 'unknown' ? 'not certain' : verdict;
}

/** Returns why a row, or the headline whose first row it is, has no verdict. */
export function describeDoubt(
  { ours, ...row }: RowOutcome,
  {
    bestPeer,
    ratio,
    rounds,
    noise,
  }: Pick<Headline, 'ratio' | 'rounds' | 'noise'> & {
    readonly bestPeer: unknown;
  } = row,
): string {
  if (ours && !ours.ok) return ours.unavailable ? ours.note : `ours failed the row (${ours.note})`;
  if (!bestPeer || !ratio) return 'no peer completed the row';
  if (rounds < fewestRounds) {
    return `${counted(rounds, 'round')} of at least ${fewestRounds}`;
  }
  if (lacksIdleCores(row.row, row.foreignShare)) {
    const percent = Math.round(100 * (row.foreignShare ?? 0));
    return `other programs used ${percent} % of the processors, and this row is about idle ones`;
  }
  if (noise !== null && ratio.low > 1 && ratio.median > noise) {
    return 'which peer is the fastest is not certain';
  }
  if (noise !== null && (ratio.low > 1 || ratio.high < 1)) {
    return `too noisy: two runs of the same code differed by up to ${describeExcess(noise)}`;
  }
  return 'the interval is too wide';
}
