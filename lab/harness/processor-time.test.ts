import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { millisecondsBetween, readProcessorTime } from './processor-time.js';

describe('processor time', () => {
  it('is counted by thread, without threads that have ended meanwhile', () => {
    const before = new Map([
      ['1/1', 10],
      ['1/2', 500],
    ]);
    const after = new Map([
      ['1/1', 17],
      ['1/3', 2],
    ]);
    expect(millisecondsBetween(before, after)).toBe(9);
  });

  it.skipIf(!existsSync('/proc/self/schedstat'))('grows while a process works', () => {
    const before = readProcessorTime([process.pid]);
    const until = performance.now() + 30;
    while (performance.now() < until);
    expect(millisecondsBetween(before, readProcessorTime([process.pid]))).toBeGreaterThan(1);
  });
});
