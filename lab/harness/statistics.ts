/**
 * Statistics of the lab.
 *
 * A ratio is taken inside a turn, so that noise which lasts longer than a turn cancels. A round's ratio is the median
 * of its turns. The ratio over rounds is their trimmed mean, in logarithms, because a few rounds of a busy machine are far
 * off. Its interval is Student's on the Winsorized deviation (Yuen: "The two-sample trimmed t for unequal population
 * variances", Biometrika 1974). It is over rounds because processes of the same program differ among themselves more
 * than the turns of one process. It is one of {@link confidence} %, because verdicts are judged after each round: with
 * 95 %, up to 5 % of the comparisons of equal subjects end with a false alarm, with 98 % some 1 %.
 *
 * Invariant: a ratio above 1 always means that ours is better, in either direction of the row.
 */
import { max, mean, median, min, sampleVariance, sum } from 'simple-statistics';

export type Better = 'higher' | 'lower';
export type Verdict = 'faster' | 'slower' | 'no difference' | 'unknown';

/** A ratio whose whole interval is within this factor of 1 is a difference that no user would notice. */
export const levelWithin = 1.1;

/** The middle of a quantity, and the interval around it. */
export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** One logarithm of a ratio per round that has one. */
export type Series = ReadonlyMap<number, number>;

/** One sample per turn, with null for a turn without one. */
export type Turns = readonly (number | null)[];

/** Fewer rounds than this support no verdict. */
export const fewestRounds = 3;

/** In percent. */
export const confidence = 98;

/** Quantiles of Student's distribution for that confidence, by degrees of freedom from 1. */
const students = [
  31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764, 2.71808, 2.681, 2.65,
  2.624, 2.602, 2.583, 2.567, 2.552, 2.539, 2.528, 2.518, 2.508, 2.5, 2.492, 2.485, 2.479, 2.473,
  2.467, 2.462,
];
const studentOfMany = 2.326;

/** The share of the rounds that is left out at each end; of fewer than five rounds, none. */
const trimmed = 0.2;

/** The median of the rounds' values, and the lowest and highest of them. */
export function estimate(values: readonly number[]): Estimate | null {
  if (values.length === 0) return null;
  return { median: median([...values]), low: min([...values]), high: max([...values]) };
}

/** Returns the logarithm of how many times better ours is in a round; undefined if nothing can be compared. */
export function ratioInRound(ours: Turns, other: Turns, better: Better): number | undefined {
  const isPaired = ours.length === other.length;
  const pairs = isPaired
    ? ours.map((mine, turn) => [mine, other[turn]] as const)
    : [[middle(ours), middle(other)] as const];
  const logarithms = pairs.flatMap(([mine, theirs]) => {
    if (!isPositive(mine) || !isPositive(theirs)) return [];
    return [Math.log(better === 'higher' ? mine / theirs : theirs / mine)];
  });
  return logarithms.length === 0 ? undefined : median(logarithms);
}

function isPositive(value: number | null | undefined): value is number {
  return typeof value === 'number' && value > 0;
}

export function middle(turns: Turns): number | undefined {
  const samples = turns.filter((sample) => sample !== null);
  return samples.length === 0 ? undefined : median(samples);
}

/** The ratio over all rounds. One round alone has no interval. */
export function estimateRatio(series: Series): Estimate | null {
  const rounds = [...series.values()].sort((a, b) => a - b);
  const { length } = rounds;
  if (length === 0) return null;
  const left = Math.floor(trimmed * length);
  const kept = rounds.slice(left, length - left);
  const center = mean(kept);
  const half = length < 2 ? 0 : student(kept.length - 1) * standardError(kept, length, left);
  return {
    median: Math.exp(center),
    low: Math.exp(center - half),
    high: Math.exp(center + half),
  };
}

/** Of the trimmed mean of sorted rounds. The rounds that are left out count as the nearest that is kept. */
function standardError(kept: readonly number[], length: number, left: number): number {
  const nearest = (round: number) => Array.from({ length: left }, () => round);
  const winsorized = [...nearest(min(kept)), ...kept, ...nearest(max(kept))];
  const squares = (length - 1) * sampleVariance(winsorized);
  return Math.sqrt(squares / (kept.length * (kept.length - 1)));
}

function student(degrees: number): number {
  return students[degrees - 1] ?? studentOfMany;
}

/**
 * The series of the best of several peers. In each round the best peer is chosen by the other rounds: a choice by the
 * same round would prefer the peer that was lucky in it.
 */
export function seriesOfBest(peers: readonly Series[]): Series {
  const rounds = [...new Set(peers.flatMap((series) => [...series.keys()]))];
  return new Map(
    rounds.flatMap((round) => {
      const chosen = bestOf(
        peers.filter((series) => series.has(round)),
        round,
      );
      const ratio = chosen?.get(round);
      return ratio === undefined ? [] : [[round, ratio] as const];
    }),
  );
}

/** Returns the peer against which ours is worst, judged without the given round if there are others. */
export function bestOf<Peer extends Series>(
  peers: readonly Peer[],
  without?: number,
): Peer | undefined {
  const means = peers.map((series) => {
    const others = [...series].filter(([round]) => round !== without || series.size === 1);
    return mean(others.map(([, ratio]) => ratio));
  });
  return peers[means.indexOf(min(means))];
}

/** The geometric mean over several rows, in the rounds that all of them have. */
export function meanOfSeries(rows: readonly Series[]): Series {
  const [first, ...others] = rows;
  const rounds = [...(first?.keys() ?? [])].filter((round) =>
    others.every((series) => series.has(round)),
  );
  return new Map(
    rounds.map((round) => [round, sum(rows.map((series) => series.get(round) ?? 0)) / rows.length]),
  );
}

/**
 * The factor, at least 1, by which a subject may seem to differ from itself: how far from 1 the
 * interval of the ratio between two processes of the same subject reaches.
 */
export function noiseFloor(control: Estimate): number {
  return Math.max(1, control.high, 1 / control.low);
}

/**
 * A difference is certain if the interval excludes 1 and the ratio is further from 1 than the noise. `no difference` is
 * certain if the whole interval is within {@link levelWithin} of 1.
 */
export function judge(ratio: Estimate | null, rounds: number, noise: number | null): Verdict {
  if (ratio === null || noise === null || rounds < fewestRounds) return 'unknown';
  if (ratio.low > 1 && ratio.median > noise) return 'faster';
  if (ratio.high < 1 && 1 / ratio.median > noise) return 'slower';
  return 1 / levelWithin <= ratio.low && ratio.high <= levelWithin ? 'no difference' : 'unknown';
}

/**
 * The verdict against the best of several peers. Ours is faster only if it is also faster than the peer that is best over
 * all rounds: among equal peers the choice by other rounds favours ours often enough to seem certain.
 */
export function judgeAgainstBest(peers: readonly Series[], noise: number | null): Verdict {
  const against = (series: Series) => judge(estimateRatio(series), series.size, noise);
  const verdict = against(seriesOfBest(peers));
  if (verdict !== 'faster') return verdict;
  const best = bestOf(peers.filter(({ size }) => size > 0));
  return best && against(best) === 'faster' ? 'faster' : 'unknown';
}
