/** What a verdict is called: as a class of the page's style, in a word, and why there is none. */
import type { RowOutcome } from '../harness/outcome.js';
import { fewestRounds, type Verdict } from '../harness/statistics.js';
import { counted, describeExcess } from './format.js';

/** Only a significant verdict has a colour. */
export function verdictClass(verdict: Verdict): string {
  return verdict.replace(' ', '-');
}

export function verdictWord(verdict: Verdict): string {
  return verdict === 'unknown' ? 'not known' : verdict;
}

/** Why a row has no verdict. */
export function describeDoubt({ ours, bestPeer, ratio, rounds, noise }: RowOutcome): string {
  if (ours && !ours.ok) return ours.unavailable ? ours.note : `ours failed the row (${ours.note})`;
  if (!bestPeer || !ratio) return 'no peer did the work';
  if (rounds < fewestRounds) {
    return `${counted(rounds, 'round')} where at least ${fewestRounds} are needed`;
  }
  if (noise !== null && (ratio.low > 1 || ratio.high < 1)) {
    return `too noisy to be sure: the same code differed from itself by up to ${describeExcess(noise)}`;
  }
  return 'the interval is too wide to tell';
}
