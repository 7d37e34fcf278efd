/** The summary that a histogram gives of the recorded times. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Histogram } from './histogram.js';

function summaryOf(times: readonly number[]) {
  const histogram = new Histogram();
  for (const time of times) histogram.record(time);
  return histogram.summary();
}

/** The smallest time that so large a share did not exceed. */
const quantile = (times: readonly number[], share: number) =>
  [...times].sort((a, b) => a - b)[Math.ceil(times.length * share) - 1] as number;

describe('a summary', () => {
  test('of nothing is zeros', () => {
    expect(summaryOf([])).toEqual({ count: 0, mean: 0, p50: 0, p99: 0, max: 0 });
  });

  test('of one time is about that time', () => {
    for (const time of [0.001, 0.0017, 0.5, 1, 1.5, 1000, 86_400_000]) {
      const { count, mean, p50, p99, max } = summaryOf([time]);
      expect([count, mean, max]).toEqual([1, time, time]);
      expect(p99).toBe(p50);
      expect(p50 / time).toBeGreaterThan(0.96);
      expect(p50).toBeLessThanOrEqual(time);
    }
  });

  test('has exact counts, means and maxima', () => {
    const { count, mean, max } = summaryOf([0.25, 3, 0, 12.5]);
    expect([count, mean, max]).toEqual([4, 3.9375, 12.5]);
  });

  test('has a 99th percentile that one in a hundred exceeds', () => {
    const { p50, p99, max } = summaryOf([...Array(99).fill(1), 50]);
    expect([p50, p99, max]).toEqual([expect.closeTo(1, 1), expect.closeTo(1, 1), 50]);
    expect(summaryOf([...Array(98).fill(1), 50, 50]).p99 / 50).toBeCloseTo(1, 1);
  });

  test('takes what cannot be a time as 0', () => {
    expect(summaryOf([-1, Number.NaN, Number.NEGATIVE_INFINITY, 0])).toEqual({
      count: 4,
      mean: 0,
      p50: 0,
      p99: 0,
      max: 0,
    });
  });

  test('takes less than a microsecond as 0, except for mean and maximum', () => {
    expect(summaryOf([0.0009, 0.0005])).toEqual({
      count: 2,
      mean: expect.closeTo(0.0007, 10),
      p50: 0,
      p99: 0,
      max: 0.0009,
    });
  });

  test('takes the longest times too', () => {
    const years = 1e12;
    const { count, p50, max } = summaryOf([years, years, Number.POSITIVE_INFINITY]);
    expect([count, max]).toEqual([3, Number.POSITIVE_INFINITY]);
    expect(p50).toBeGreaterThan(1e9);
  });
});

describe('quantiles', () => {
  test('are at most 7 % from the exact ones', () => {
    const time = fc
      .tuple(fc.integer({ min: -9, max: 29 }), fc.double({ min: 1, max: 2, noNaN: true }))
      .map(([power, factor]) => factor * 2 ** power);
    fc.assert(
      fc.property(fc.array(time, { minLength: 1, maxLength: 300 }), (times) => {
        const { count, p50, p99, max } = summaryOf(times);
        expect(count).toBe(times.length);
        for (const [found, share] of [
          [p50, 0.5],
          [p99, 0.99],
        ] as const) {
          expect(Math.abs(found / quantile(times, share) - 1)).toBeLessThan(0.07);
        }
        expect(p50).toBeLessThanOrEqual(p99);
        expect(p99).toBeLessThanOrEqual(max);
      }),
      { numRuns: 300 },
    );
  });
});
