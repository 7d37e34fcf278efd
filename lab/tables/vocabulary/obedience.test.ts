import { describe, expect, it } from 'vitest';
import { type Job, judge } from './obedience.js';

const rate = { limit: 2, per: 100 };

/** Jobs that were all requested at 0 and took 10 ms. */
const jobsAt = (...starts: number[]): Job[] =>
  starts.map((startedAt) => ({ askedAt: 0, startedAt, endedAt: startedAt + 10 }));

describe('the judge', () => {
  it('finds no violation if every window is within the limit', () => {
    expect(judge(jobsAt(0, 0, 100, 100, 200), rate, Number.POSITIVE_INFINITY)).toEqual({
      ...{ starts: 5, tooEarly: 0, mostInWindow: 2, mostAtOnce: 2, throughput: 100 },
    });
  });

  it('counts the starts at the boundary of fixed windows', () => {
    const verdict = judge(jobsAt(0, 90, 100, 100, 200, 200), rate, Number.POSITIVE_INFINITY);
    expect(verdict).toMatchObject({ tooEarly: 1, mostInWindow: 3 });
    const twice = judge(jobsAt(90, 90, 100, 100), rate, Number.POSITIVE_INFINITY);
    expect(twice).toMatchObject({ tooEarly: 2, mostInWindow: 4 });
  });

  it('tolerates the error of a clock of whole milliseconds', () => {
    expect(judge(jobsAt(0, 0, 98.5, 98.5), rate, Number.POSITIVE_INFINITY).tooEarly).toBe(0);
    expect(judge(jobsAt(0, 0, 97.5), rate, Number.POSITIVE_INFINITY).tooEarly).toBe(1);
  });

  it('accepts the jobs in any order', () => {
    const jobs = jobsAt(100, 0, 90, 100);
    expect(judge(jobs, rate, Number.POSITIVE_INFINITY).tooEarly).toBe(1);
  });

  it('reports the share of the allowed starts', () => {
    expect(judge(jobsAt(0, 0, 125, 125), rate, Number.POSITIVE_INFINITY).throughput).toBe(80);
  });

  it('checks the concurrency too, with the duration of the jobs', () => {
    const jobs = jobsAt(0, 10, 100, 110);
    expect(judge(jobs, rate, 1)).toMatchObject({ throughput: 100, mostAtOnce: 1 });
    expect(judge(jobs, rate, Number.POSITIVE_INFINITY).throughput).toBeLessThan(100);
    expect(judge(jobsAt(0, 5, 100), rate, 1).mostAtOnce).toBe(2);
  });

  it('expects no starts before the jobs were requested', () => {
    const late = jobsAt(0, 0).concat({ askedAt: 500, startedAt: 500, endedAt: 510 });
    expect(judge(late, rate, Number.POSITIVE_INFINITY).throughput).toBe(100);
  });
});
