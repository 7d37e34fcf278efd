import { describe, expect, it } from 'vitest';
import { all, outcomeWith } from './made-up-outcome.js';
import { resultsPage } from './results-page.js';

const page = resultsPage([
  outcomeWith({ ours: 400, quick: 100 }, 'higher', 'calls'),
  outcomeWith({ ours: 400, quick: 100 }, 'lower', 'locks'),
  outcomeWith({ ours: 100, quick: 100 }, 'lower', 'turns'),
  outcomeWith({ ours: 100 }, 'lower', 'waits'),
]);

/** The cells of the table under a heading, line by line. */
function linesUnder(heading: string, of = page): string[][] {
  const section = of.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('the page of the results', () => {
  it('states each certain headline with its ratio and interval, also a slower one', () => {
    expect(linesUnder('Certain results')).toEqual([
      [
        '[All about calls](../lab/README.md#the-table-calls): Ours is **4.00 times faster** than quick, the fastest peer, indoors.',
        '4.00 (4.00 to 4.00)',
      ],
      [
        '[All about locks](../lab/README.md#the-table-locks): Ours is **4.00 times slower** than quick, the fastest peer, indoors.',
        '0.25 (0.25 to 0.25)',
      ],
      [
        '[All about turns](../lab/README.md#the-table-turns): Ours and quick, the fastest peer, show **no difference** indoors.',
        '1.00 (1.00 to 1.00)',
      ],
    ]);
  });

  it('lists the others with the reason and the command that measures more', () => {
    expect(linesUnder('Results that are not certain')).toEqual([
      [
        '[All about waits](../lab/README.md#the-table-waits): No verdict yet on Ours indoors: no peer completed the row.',
        '`make lab TABLE=waits ROW=first ROUNDS=6`',
      ],
    ]);
    const certain = resultsPage([outcomeWith(all)]);
    expect(certain).not.toContain('not certain');
  });

  it('says against whom, where and when each table was measured', () => {
    const lines = (of: string) => of.split('## Conditions\n\n')[1]?.trimEnd().split('\n') ?? [];
    expect(lines(page)).toEqual([
      '- Machine: 2 × A processor, 4 GiB, A system, Node 20.20.2.',
      ...['calls', 'locks', 'turns'].map(
        (name) =>
          `- [All about ${name}](../lab/README.md#the-table-${name}): 3 rounds until 2026-01-03, by elapsed time, against quick.`,
      ),
      '- [All about waits](../lab/README.md#the-table-waits): 3 rounds until 2026-01-03, by elapsed time.',
    ]);
    const [, line] = lines(resultsPage([outcomeWith(all)]));
    expect(line).toContain('against swift, quick, brisk');
    expect(line).not.toContain('broken');
  });

  it('escapes names that Markdown would read as markup', () => {
    const outcome = outcomeWith({ ours: 400, quick: 100 });
    const table = { ...outcome.table, title: 'a <b> | c_d' };
    expect(resultsPage([{ ...outcome, table }])).toContain('[a &lt;b> \\| c\\_d]');
  });
});
