import { describe, expect, it } from 'vitest';
import { judge } from './judge.js';

const rule = { limit: 2, per: 100 };
const at = (...times: number[]) => times.map((time) => ({ asked: time, answered: time + 1 }));

describe('the judge', () => {
  it('passes starts that keep the rule, in any order', () => {
    expect(judge(at(0, 100, 1, 101, 200), rule)).toEqual({ starts: 5, above: 0, mostInWindow: 2 });
  });

  it('counts starts in a full window, across the border of fixed windows too', () => {
    expect(judge(at(90, 95, 100, 105), rule)).toEqual({ starts: 4, above: 2, mostInWindow: 4 });
  });

  it('does not count a start that may have been allowed outside the window', () => {
    const late = { asked: 0, answered: 105 };
    expect(judge([...at(50, 104), late], rule).above).toBe(0);
    expect(judge([...at(50, 98), { asked: 0, answered: 99 }], rule).above).toBe(1);
  });
});
