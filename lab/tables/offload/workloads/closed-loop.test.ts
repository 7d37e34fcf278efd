import { describe, expect, it } from 'vitest';
import { closedLoop, type Lane } from './closed-loop.js';

const order = { warmUpMilliseconds: 1, samples: 3, sampleMilliseconds: 1 };

describe('a closed loop', () => {
  it('keeps one task in each lane, and returns a figure for each sample', async () => {
    let underWay = 0;
    let most = 0;
    const lane = (): Lane => ({
      async ask() {
        underWay += 1;
        most = Math.max(most, underWay);
        await undefined;
        underWay -= 1;
      },
      check() {},
    });
    const { perSecond, processorTime } = await closedLoop([lane(), lane(), lane()], order);
    expect(perSecond.every((value) => value > 0)).toBe(true);
    expect(perSecond.length).toBeGreaterThan(0);
    expect(processorTime.length).toBe(perSecond.length);
    expect(most).toBe(3);
    expect(underWay).toBe(0);
  });

  it('fails when an answer is wrong', async () => {
    const lane: Lane = {
      ask: async () => 1,
      check: (answer) => {
        if (answer !== 2) throw new Error('answered 1 for 2');
      },
    };
    await expect(closedLoop([lane], order)).rejects.toThrow('answered 1 for 2');
  });
});
