import { describe, expect, it } from 'vitest';
import { type Job, judge } from './obedience.js';

const rate = { limit: 2, per: 100 };

/** Jobs that were all asked for at 0 and took 10 ms. */
const jobsAt = (...starts: number[]): Job[] =>
  starts.map((startedAt) => ({ askedAt: 0, startedAt, endedAt: startedAt + 10 }));

describe('the judge', () => {
  it('finds nothing where every window holds the limit', () => {
    expect(judge(jobsAt(0, 0, 100, 100, 200), rate, Number.POSITIVE_INFINITY)).toEqual({
      ...{ starts: 5, tooEarly: 0, mostInWindow: 2, mostAtOnce: 2, throughput: 100 },
    });
  });

  it('counts the starts at the edge of windows that begin anew', () => {
    const verdict = judge(jobsAt(0, 90, 100, 100, 200, 200), rate, Number.POSITIVE_INFINITY);
    expect(verdict).toMatchObject({ tooEarly: 1, mostInWindow: 3 });
    const twice = judge(jobsAt(90, 90, 100, 100), rate, Number.POSITIVE_INFINITY);
    expect(twice).toMatchObject({ tooEarly: 2, mostInWindow: 4 });
  });

  it('allows what a clock of whole milliseconds gets wrong', () => {
    expect(judge(jobsAt(0, 0, 98.5, 98.5), rate, Number.POSITIVE_INFINITY).tooEarly).toBe(0);
    expect(judge(jobsAt(0, 0, 97.5), rate, Number.POSITIVE_INFINITY).tooEarly).toBe(1);
  });

  it('does not mind in which order it is told', () => {
    const jobs = jobsAt(100, 0, 90, 100);
    expect(judge(jobs, rate, Number.POSITIVE_INFINITY).tooEarly).toBe(1);
  });

  it('says how much of what the rule allows was started', () => {
    expect(judge(jobsAt(0, 0, 125, 125), rate, Number.POSITIVE_INFINITY).throughput).toBe(80);
  });

  it('takes the concurrency for a rule too, with the time that the jobs took', () => {
    const jobs = jobsAt(0, 10, 100, 110);
    expect(judge(jobs, rate, 1)).toMatchObject({ throughput: 100, mostAtOnce: 1 });
    expect(judge(jobs, rate, Number.POSITIVE_INFINITY).throughput).toBeLessThan(100);
    expect(judge(jobsAt(0, 5, 100), rate, 1).mostAtOnce).toBe(2);
  });

  it('asks for nothing before the jobs were there', () => {
    const late = jobsAt(0, 0).concat({ askedAt: 500, startedAt: 500, endedAt: 510 });
    expect(judge(late, rate, Number.POSITIVE_INFINITY).throughput).toBe(100);
  });
});
