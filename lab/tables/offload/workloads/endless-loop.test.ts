import { describe, expect, it } from 'vitest';
import type { Lane } from './closed-loop.js';
import { endlessLoop } from './endless-loop.js';

const order = { depths: [1, 3], warmUpMilliseconds: 1, sampleMilliseconds: 5 };

describe('an endless loop', () => {
  it('has more and more tasks in flight, and a figure for each depth', async () => {
    let underWay = 0;
    let most = 0;
    const lane = (): Lane => ({
      async ask() {
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
      },
      check() {},
    });
    const found = await endlessLoop(lane, order);
    expect([...found.keys()]).toEqual([1, 3]);
    for (const { perSecond, processorTime } of found.values()) {
      expect(perSecond[0]).toBeGreaterThan(0);
      expect(processorTime[0]).toBeGreaterThan(0);
    }
    expect(most).toBe(3);
  });

  it('fails when an answer is wrong', async () => {
    const lane = (): Lane => ({
      ask: () => new Promise((resolve) => setImmediate(resolve, 1)),
      check() {
        throw new Error('answered 1 for 2');
      },
    });
    await expect(endlessLoop(lane, order)).rejects.toThrow('answered 1 for 2');
  });
});
