import { describe, expect, it } from 'vitest';
import type { RowOutcome, TableOutcome } from '../harness/outcome.js';
import { judge } from '../harness/statistics.js';
import { madeUpRow, madeUpSubject } from './made-up-row.js';
import { sentenceOf } from './sentence.js';

const peer = madeUpSubject('theirs', 2);

function sentence(
  [low, median, high]: readonly [number, number, number],
  noise: number,
  changes: Partial<RowOutcome> = {},
): string {
  const ratio = { low, median, high };
  const row: RowOutcome = {
    ...madeUpRow('a row', {}, [madeUpSubject('ours', 1), peer], ratio),
    ...{ bestPeer: peer, noise, rounds: 5, verdict: judge(ratio, 5, noise), ...changes },
  };
  const headline = { ours: 'Ours', where: 'indoors' };
  const table = { title: 'Chairs', headline, cells: [row.cell] };
  const of = { ...row, rows: [row], bestPeer: row.bestPeer?.subject ?? null };
  return sentenceOf({ table, rows: [row], headline: of } as unknown as TableOutcome);
}

describe('the sentence of a table', () => {
  it('has the ratio, or its lower bound if the interval is wide', () => {
    expect(sentence([1.9, 2, 2.1], 1.05)).toBe(
      'Ours is 2.00 times faster than theirs, the fastest peer, indoors (98 % interval 1.90 to 2.10).',
    );
    expect(sentence([10.2, 10.6, 28.8], 1.05)).toContain('Ours is at least 10.2 times faster than');
    expect(sentence([0.2, 0.25, 0.4], 1.05)).toContain('Ours is at least 2.50 times slower than');
  });

  it('has the lower bound and the reason if the noise is larger than the difference', () => {
    expect(sentence([1.5, 3.5, 9], 4)).toBe(
      'Ours seems at least 1.50 times faster than theirs, the fastest peer, indoors (98 % interval 1.50 to 9.00; too noisy: two runs of the same code differed by up to 300 %).',
    );
    expect(sentence([0.3, 0.37, 0.44], 4)).toContain('Ours seems at least 2.27 times slower than');
  });

  it('distinguishes no difference from no certain difference', () => {
    expect(sentence([0.97, 1, 1.02], 1.05)).toContain('show no difference indoors (ratio 1.00');
    expect(sentence([0.73, 0.95, 1.12], 1.05)).toBe(
      'Ours and theirs, the fastest peer, show no certain difference indoors (ratio 0.95, 98 % interval 0.73 to 1.12; the interval is too wide).',
    );
    expect(sentence([1.01, 1.02, 1.03], 1.2)).toContain('show no difference indoors');
  });

  it('has no verdict with fewer than three rounds, or without a peer', () => {
    expect(sentence([2, 2, 2], 1, { rounds: 2, verdict: 'unknown' })).toBe(
      'No verdict yet on Ours indoors: 2 rounds of at least 3.',
    );
    expect(sentence([2, 2, 2], 1, { bestPeer: null, ratio: null, verdict: 'unknown' })).toBe(
      'No verdict yet on Ours indoors: no peer completed the row.',
    );
  });
});
