import { describe, expect, it } from 'vitest';
import { type Lane, sliceOf } from './closed-loop.js';

const loop = { measure: 'tasks', condition: 'quiet' } as const;

describe('a slice of a closed loop', () => {
  it('keeps one task in each lane, and returns the rate and the processor time of a task', async () => {
    let underWay = 0;
    let most = 0;
    let asked = 0;
    const lane = (): Lane => ({
      async ask() {
        asked += 1;
        underWay += 1;
        most = Math.max(most, underWay);
        await undefined;
        underWay -= 1;
      },
      check() {},
    });
    const slice = sliceOf({ ...loop, lanes: [lane(), lane(), lane()] });
    const samples = await slice.run(1);
    expect(samples.tasks).toBeGreaterThan(0);
    expect(samples['tasks, processor time']).toBeGreaterThanOrEqual(0);
    expect(asked).toBe(6);
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
    await expect(sliceOf({ ...loop, lanes: [lane] }).run(1)).rejects.toThrow('answered 1 for 2');
  });
});
