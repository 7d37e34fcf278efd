import { describe, expect, it } from 'vitest';
import { loadBetween, parseLoad } from './load.js';

/** user nice system idle iowait irq softirq steal */
const system = (...ticks: number[]) => `cpu  ${ticks.join(' ')} 0 0\ncpu0 1 2 3\n`;
const own = (...ticks: number[]) => `42 (a (b) name) S ${'0 '.repeat(10)}${ticks.join(' ')} 20 0`;

describe('load between two snapshots', () => {
  it('is the processor time of others, as a share of all processors', () => {
    const before = parseLoad(system(100, 0, 50, 800, 50, 0, 0, 0), own(10, 5, 20, 5));
    const after = parseLoad(system(180, 0, 60, 890, 60, 0, 0, 10), own(20, 5, 70, 15));
    // 200 ticks in total, 100 of them busy, 70 of those ours, 10 taken by the hypervisor.
    expect(loadBetween(before, after)).toEqual({ foreign: 0.15, steal: 0.05 });
  });

  it('is not negative when our own ticks are booked late', () => {
    const before = parseLoad(system(100, 0, 0, 100), own(0, 0, 0, 0));
    const after = parseLoad(system(110, 0, 0, 190), own(12, 0, 0, 0));
    expect(loadBetween(before, after)?.foreign).toBe(0);
  });

  it('excludes processes that the preparation of a table left running', () => {
    const before = parseLoad(system(100, 0, 0, 100), own(10, 0, 0, 0), own(5, 5, 0, 0));
    const after = parseLoad(system(200, 0, 0, 200), own(40, 0, 0, 0), own(35, 15, 0, 0));
    // 200 ticks in total, 100 of them busy: 30 of the lab itself, 40 of the process left running.
    expect(loadBetween(before, after)?.foreign).toBe(0.15);
  });

  it('is not measured if the system does not report it', () => {
    expect(loadBetween(undefined, undefined)).toBeNull();
  });
});
