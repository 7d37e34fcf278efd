/**
 * Statistics of the lab.
 *
 * A cell's value in a round is the median of its samples; everything else is a median over rounds with a 95 %
 * bootstrap interval over rounds. A ratio is taken inside a round, so drift of the machine cancels. Invariant: a ratio
 * above 1 always means that ours is better, in either direction of the row.
 */
import { median, quantileSorted, sampleWithReplacement } from 'simple-statistics';
import { seededRandom } from './random.js';

export type Better = 'higher' | 'lower';
export type Verdict = 'faster' | 'slower' | 'no difference' | 'unknown';

/** A ratio whose whole interval is nearer to 1 than this factor is none that a user would notice. */
export const levelWithin = 1.1;

/** A median over rounds and its 95 % interval. */
export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** One value per round that has one. */
export type Series = ReadonlyMap<number, number>;

/** Fewer rounds than this support no verdict. */
export const fewestRounds = 3;

const resamples = 2000;
const seed = 20_200_424;

export function estimate(values: readonly number[]): Estimate | null {
  if (values.length === 0) return null;
  const random = seededRandom(seed);
  const pool = [...values];
  const medians = Array.from({ length: resamples }, () =>
    median(sampleWithReplacement(pool, pool.length, random)),
  ).sort((a, b) => a - b);
  return {
    median: median(pool),
    low: quantileSorted(medians, 0.025),
    high: quantileSorted(medians, 0.975),
  };
}

/** How many times better `ours` is than `other`, in each round that has both. */
export function ratios(ours: Series, other: Series, better: Better): number[] {
  const found: number[] = [];
  for (const [round, mine] of ours) {
    const theirs = other.get(round);
    if (theirs === undefined || !(mine > 0) || !(theirs > 0)) continue;
    found.push(better === 'higher' ? mine / theirs : theirs / mine);
  }
  return found;
}

/** In logarithms, so that two subjects that change places get the reciprocal. */
export function estimateRatio(found: readonly number[]): Estimate | null {
  const logarithm = estimate(found.map(Math.log));
  return (
    logarithm && {
      median: Math.exp(logarithm.median),
      low: Math.exp(logarithm.low),
      high: Math.exp(logarithm.high),
    }
  );
}

/**
 * The factor, at least 1, by which a subject may seem to differ from itself: how far from 1 the
 * interval of the ratio between two runs of the same subject reaches.
 */
export function noiseFloor(control: Estimate): number {
  return Math.max(1, control.high, 1 / control.low);
}

/**
 * A difference is one where the whole interval lies beyond 1, and beyond what the row shows of the same
 * thing twice. That nothing of the kind was found is no finding: it is `no difference` only where the
 * whole interval lies about 1, else `unknown`.
 */
export function judge(ratio: Estimate | null, rounds: number, noise: number | null): Verdict {
  if (ratio === null || noise === null || rounds < fewestRounds) return 'unknown';
  if (ratio.low > noise) return 'faster';
  if (1 / ratio.high > noise) return 'slower';
  return 1 / levelWithin <= ratio.low && ratio.high <= levelWithin ? 'no difference' : 'unknown';
}
