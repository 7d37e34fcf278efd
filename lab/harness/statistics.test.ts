import fc from 'fast-check';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { describe, expect, it } from 'vitest';
import {
  type Better,
  estimate,
  estimateRatio,
  judge,
  judgeAgainstBest,
  meanOfSeries,
  noiseFloor,
  ratioInRound,
  type Series,
  seriesOfBest,
  type Verdict,
} from './statistics.js';

/** A turn per round. */
function ratios(ours: readonly number[], other: readonly number[], direction: Better): Series {
  return new Map(
    ours.map((mine, round) => [round, ratioInRound([mine], [other[round] ?? 0], direction) ?? 0]),
  );
}

const series = (...values: readonly number[]) =>
  new Map(values.map((value, round) => [round, Math.log(value)]));
const positive = fc.integer({ min: 1, max: 1_000_000 });
const rounds = fc.array(positive, { minLength: 3, maxLength: 20 });
const better = fc.constantFrom<Better>('higher', 'lower');
const opposite: Readonly<Record<Verdict, Verdict>> = {
  faster: 'slower',
  slower: 'faster',
  'no difference': 'no difference',
  unknown: 'unknown',
};

function verdictOf(
  ours: readonly number[],
  peer: readonly number[],
  direction: Better,
  control: readonly number[] = ours,
): Verdict {
  const paired = ratios(ours, peer, direction);
  const itself = estimateRatio(ratios(ours, control, direction));
  return judge(estimateRatio(paired), paired.size, itself && noiseFloor(itself));
}

describe('a verdict', () => {
  it('is no difference when both series are identical, however they scatter', () => {
    fc.assert(
      fc.property(rounds, better, (values, direction) => {
        expect(verdictOf(values, values, direction)).toBe('no difference');
      }),
    );
  });

  it('is faster if ours is better by the same factor in every round, and slower if worse', () => {
    fc.assert(
      fc.property(rounds, fc.integer({ min: 2, max: 100 }), (values, factor) => {
        const shifted = values.map((value) => value * factor);
        expect(verdictOf(shifted, values, 'higher')).toBe('faster');
        expect(verdictOf(shifted, values, 'lower')).toBe('slower');
        expect(verdictOf(values, shifted, 'higher')).toBe('slower');
        expect(verdictOf(values, shifted, 'lower')).toBe('faster');
      }),
    );
  });

  it('inverts when ours and the peer are swapped', () => {
    const both = fc.array(fc.tuple(positive, positive), { minLength: 3, maxLength: 20 });
    fc.assert(
      fc.property(both, better, (pairs, direction) => {
        const ours = pairs.map(([mine]) => mine);
        const peer = pairs.map(([, theirs]) => theirs);
        const back = verdictOf(peer, ours, direction);
        expect(back).toBe(opposite[verdictOf(ours, peer, direction)]);
      }),
    );
  });

  it('needs a difference larger than the noise of ours', () => {
    const ours = [104, 105, 103, 104, 105];
    const peer = [100, 100, 100, 100, 100];
    expect(verdictOf(ours, peer, 'higher')).toBe('faster');
    expect(verdictOf(ours, peer, 'lower')).toBe('slower');
    const restless = [97, 112, 96, 111, 98];
    expect(verdictOf(ours, peer, 'higher', restless)).toBe('no difference');
    const far = ours.map((value) => value * 2.5);
    const wild = [60, 250, 110, 400, 90];
    expect(verdictOf(far, peer, 'higher', wild)).toBe('unknown');
  });

  it('is no difference only if the whole interval is near 1, otherwise unknown', () => {
    const judged = (low: number, high: number) => judge({ median: 1, low, high }, 5, 1.02);
    expect(judged(0.95, 1.08)).toBe('no difference');
    expect(judged(1.01, 1.05)).toBe('no difference');
    expect(judged(0.73, 1.12)).toBe('unknown');
    expect(judged(1.01, 3.5)).toBe('unknown');
    expect(judge({ median: 1.04, low: 1.01, high: 1.07 }, 5, 1.02)).toBe('faster');
    expect(judge({ median: 0.93, low: 0.9, high: 0.97 }, 5, 1.02)).toBe('slower');
    expect(judge({ median: 1.5, low: 0.99, high: 2 }, 5, 1.02)).toBe('unknown');
    // An interval entirely beyond 1 within the noise is not `no difference`.
    expect(judge({ median: 0.37, low: 0.3, high: 0.44 }, 3, 3)).toBe('unknown');
    expect(judge({ median: 0.37, low: 0.3, high: 0.44 }, 3, 2)).toBe('slower');
  });

  it('needs three rounds', () => {
    expect(verdictOf([200, 200], [100, 100], 'higher')).toBe('unknown');
    expect(verdictOf([200, 200, 200], [100, 100, 100], 'higher')).toBe('faster');
  });

  it('is unknown without a peer or without a control', () => {
    expect(judge(null, 5, 1)).toBe('unknown');
    expect(judge({ median: 2, low: 2, high: 2 }, 5, null)).toBe('unknown');
  });
});

describe('a ratio', () => {
  it('is taken inside a turn, so a drift that both share cancels', () => {
    const drift = [1, 1.4, 0.7, 2, 1.1];
    const ours = drift.map((factor) => 110 * factor);
    const peer = drift.map((factor) => 100 * factor);
    expect(ratioInRound(ours, peer, 'higher')).toBeCloseTo(Math.log(1.1));
    expect(ratioInRound(ours, peer, 'lower')).toBeCloseTo(-Math.log(1.1));
  });

  it('is that of the medians if the samples are not those of turns', () => {
    expect(ratioInRound([1, 10, 100], [5], 'higher')).toBeCloseTo(Math.log(2));
  });

  it('skips turns that only one of the two has, and values without a ratio', () => {
    expect(ratioInRound([null, 20, 5, 0], [10, 10, null, 5], 'higher')).toBeCloseTo(Math.log(2));
    expect(ratioInRound([0], [5], 'higher')).toBeUndefined();
    expect(ratioInRound([], [], 'higher')).toBeUndefined();
  });

  it("has Student's interval over the rounds, which needs two", () => {
    // Logarithms 0 and 2: mean 1, standard error 1, and a quantile of 31.8.
    const found = estimateRatio(
      new Map([
        [1, 0],
        [2, 2],
      ]),
    );
    expect(Math.log(found?.median ?? 0)).toBeCloseTo(1);
    expect(Math.log(found?.high ?? 0)).toBeCloseTo(1 + 31.821, 2);
    expect(estimateRatio(series(3))).toEqual({
      median: expect.closeTo(3),
      low: expect.closeTo(3),
      high: expect.closeTo(3),
    });
    expect(estimateRatio(new Map())).toBeNull();
  });

  it('leaves out a fifth of the rounds at each end, and is less certain for it', () => {
    const logarithms = (...rounds: number[]) => new Map(rounds.entries());
    // Of -9, 1, 2, 3, 99 the mean of 1, 2, 3 is 2; with -9 as 1 and 99 as 3 the squares are 4, over 3 * 2.
    const found = estimateRatio(logarithms(2, 99, 1, -9, 3));
    expect(Math.log(found?.median ?? 0)).toBeCloseTo(2);
    expect(Math.log(found?.high ?? 0)).toBeCloseTo(2 + 6.965 * Math.sqrt(4 / 6), 2);
    expect(estimateRatio(logarithms(2, 5, 1, -9, 3))).toEqual(found);
  });
});

describe('the best of several peers', () => {
  it('is chosen in each round by the others, so that luck in a round does not count', () => {
    const steady = series(2, 2, 2, 2);
    const lucky = series(1, 3, 3, 3);
    expect([...seriesOfBest([steady, lucky]).values()].map(Math.exp)).toEqual([
      expect.closeTo(2),
      expect.closeTo(2),
      expect.closeTo(2),
      expect.closeTo(2),
    ]);
  });

  it('is the only one that has the round', () => {
    const some = new Map([[0, Math.log(5)]]);
    expect(Math.exp(seriesOfBest([some, series(2, 2)]).get(1) ?? 0)).toBeCloseTo(2);
    expect(seriesOfBest([]).size).toBe(0);
  });
});

describe('a verdict that is judged after each round', () => {
  /** Returns how many of 500 runs of at most 20 rounds say that ours is faster or slower than its best peer. */
  function alarms(peers: number, deviation: number, outliers: number): number {
    const generator = xoroshiro128plus(1);
    const random = () => uniformFloat64(generator);
    const noise = () =>
      deviation * normal(random) + (random() < outliers ? 0.7 * normal(random) : 0);
    let wrong = 0;
    for (let run = 0; run < 500; run += 1) {
      const all = Array.from({ length: peers }, (): Map<number, number> => new Map());
      const control = new Map<number, number>();
      let verdict: Verdict = 'unknown';
      for (let round = 0; round < 20 && verdict === 'unknown'; round += 1) {
        const ours = noise();
        for (const series of all) series.set(round, ours - noise());
        control.set(round, ours - noise());
        const found = estimateRatio(control);
        verdict = judgeAgainstBest(all, found && noiseFloor(found));
      }
      if (verdict === 'faster' || verdict === 'slower') wrong += 1;
    }
    return wrong;
  }

  it('is wrong about equal subjects in at most 2 of 100 runs, also if some rounds are far off', () => {
    expect(alarms(1, 0.02, 0)).toBeLessThanOrEqual(10);
    expect(alarms(1, 0.1, 0)).toBeLessThanOrEqual(10);
    expect(alarms(1, 0.1, 0.15)).toBeLessThanOrEqual(10);
    expect(alarms(5, 0.1, 0.15)).toBeLessThanOrEqual(10);
  });
});

describe('the mean over rows', () => {
  it('is geometric, in the rounds that all rows have', () => {
    const mean = meanOfSeries([series(2, 8), series(8)]);
    expect([...mean].map(([round, value]) => [round, Math.exp(value)])).toEqual([
      [0, expect.closeTo(4)],
    ]);
  });
});

describe('an estimate', () => {
  it('encloses the median and stays within the values', () => {
    fc.assert(
      fc.property(rounds, (values) => {
        const { low, median, high } = estimate(values) ?? { low: 0, median: 0, high: 0 };
        expect(low).toBeLessThanOrEqual(median);
        expect(high).toBeGreaterThanOrEqual(median);
        expect(low).toBeGreaterThanOrEqual(Math.min(...values));
        expect(high).toBeLessThanOrEqual(Math.max(...values));
      }),
    );
  });

  it('is absent without values', () => {
    expect(estimate([])).toBeNull();
  });
});

describe('a noise floor', () => {
  it('does not depend on the order of the two runs', () => {
    expect(noiseFloor({ median: 1, low: 0.8, high: 1.1 })).toBeCloseTo(1.25);
    expect(noiseFloor({ median: 1, low: 1 / 1.1, high: 1.25 })).toBeCloseTo(1.25);
  });

  it('is never below 1', () => {
    expect(noiseFloor({ median: 1, low: 1, high: 1 })).toBe(1);
  });
});

/** Box and Muller's. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
