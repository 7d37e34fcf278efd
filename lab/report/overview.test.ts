import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Window } from 'happy-dom';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TableOutcome } from '../harness/outcome.js';
import { headlineChart } from './headline-chart.js';
import { all, outcomeWith } from './made-up-outcome.js';
import { drawOverview } from './overview-picture.js';
import { writeReport } from './report.js';
import { headlineRow } from './sentence.js';

function parse(markup: string) {
  const { document } = new Window();
  // happy-dom ignores everything after a style inside an SVG.
  document.body.innerHTML = markup.replace(/<style>.*?<\/style>/gs, '');
  return document;
}

const numberIn = (element: { getAttribute(name: string): string | null }, name: string) =>
  Number(element.getAttribute(name));

describe('the picture of a headline row', () => {
  const chartOf = (outcome: TableOutcome) => {
    const row = headlineRow(outcome);
    const document = parse(row ? headlineChart(row, 340) : '');
    return {
      description: document.querySelector('svg')?.getAttribute('aria-label'),
      texts: [...document.querySelectorAll('text')].map((text) => text.textContent),
      bold: [...document.querySelectorAll('[font-weight="600"] text')].map(
        (text) => text.textContent,
      ),
      bars: [...document.querySelectorAll('rect')].map((bar) => ({
        fill: bar.closest('[fill]')?.getAttribute('fill'),
        length: numberIn(bar, 'width'),
      })),
      dashed: document.querySelectorAll('[stroke-dasharray] line, line[stroke-dasharray]').length,
    };
  };

  it('has ours in order among the fastest peers that did the same work', () => {
    const { texts, bold, bars, description } = chartOf(outcomeWith(all));
    expect(texts).toEqual([
      ...['quick', '1,200', 'ours', '600', 'swift', '300', 'brisk', '150', 'slow', '60'],
      'floor 2,400',
      'turns/s, higher is better; the 4 fastest of 5 peers',
    ]);
    expect(bold).toEqual(['ours', '600']);
    expect(bars.map(({ fill }) => fill)).toEqual([
      'var(--peer)',
      'var(--ours)',
      ...Array.from({ length: 3 }, () => 'var(--peer)'),
    ]);
    const longest = bars[0]?.length ?? 0;
    expect(bars.map(({ length }) => length / longest)).toEqual(
      [1, 0.5, 0.25, 0.125, 0.05].map((share) => expect.closeTo(share)),
    );
    expect(description).toBe(
      'the headline, turns/s, higher is better; the 4 fastest of 5 peers: quick 1,200, ours 600, swift 300, brisk 150, slow 60; floor 2,400',
    );
  });

  it('begins with the lowest if lower is better, and shows ours even if it is last', () => {
    const { texts } = chartOf(outcomeWith({ ...all, ours: 5000 }, 'lower'));
    expect(texts.filter((_, index) => index < 10 && index % 2 === 0)).toEqual([
      ...['slower', 'slow', 'brisk', 'swift', 'ours'],
    ]);
  });

  it('draws a line for a near floor, and names a far one', () => {
    expect(chartOf(outcomeWith(all)).dashed).toBe(1);
    const far = chartOf(outcomeWith({ ...all, nothing: 1e6 }));
    expect(far.dashed).toBe(0);
    expect(far.texts).toContain('floor 1,000,000 →');
    expect(far.bars).toEqual(
      chartOf(outcomeWith({ ours: 600, quick: 1200, swift: 300, brisk: 150, slow: 60 })).bars,
    );
  });
});

describe('the picture of all tables', () => {
  const outcomes = [
    outcomeWith({ ours: 400, quick: 100 }, 'higher', 'calls'),
    outcomeWith({ ours: 400, quick: 100 }, 'lower', 'locks'),
    outcomeWith({ ours: 100, quick: 100 }, 'lower', 'turns'),
    outcomeWith({ ours: 100 }, 'lower', 'waits'),
  ];
  const document = parse(drawOverview(outcomes, 'wide'));
  const texts = [...document.querySelectorAll('text')].map((text) => text.textContent);

  it('shows the work, the peer and the ratio of each table', () => {
    expect(texts).toEqual(
      expect.arrayContaining([
        ...['calls in a row', 'against quick', '4.00× faster', '4.00 to 4.00'],
        ...['locks in a row', '4.00× slower'],
        ...['turns in a row', 'no difference', '1.00 to 1.00'],
      ]),
    );
    expect(texts.at(-1)).toBe('2 cores of A processor, Node 20.20.2; 2026-01-03; 3 rounds');
    const description = document
      .querySelector('[aria-label^="Ours is"]')
      ?.getAttribute('aria-label');
    expect(description).toContain('4.00 times slower than quick');
  });

  it('says so if no result is certain', () => {
    const { textContent } = parse(drawOverview(outcomes.slice(3), 'narrow')).body;
    expect(textContent).toContain('no result is certain yet');
    expect(textContent).not.toMatch(/undefined|NaN|rounds/);
  });

  it('states the lower end of a wide interval, as the sentence does', () => {
    const outcome = outcomeWith({ ours: 400, quick: 100 }, 'higher', 'calls');
    const headline = { ...outcome.headline, ratio: { median: 4, low: 2, high: 8 } };
    const drawn = drawOverview([{ ...outcome, headline } as TableOutcome], 'narrow');
    const { textContent } = parse(drawn).body;
    expect(textContent).toContain('≥ 2.00× faster');
    expect(textContent).toContain('2.00 to 8.00');
  });

  it('keeps the labels of the axis apart if the ratios differ by powers of ten', () => {
    const far = [0.005, 1, 60].map((ours) => outcomeWith({ ours: 100 * ours, quick: 100 }));
    const drawn = parse(drawOverview(far, 'narrow'));
    const labels = [...drawn.querySelectorAll('text')].filter(({ textContent }) =>
      /^[\d.]+×$/.test(textContent),
    );
    const places = labels.map((label) =>
      Number(/translate\(([\d.]+)/.exec(label.getAttribute('transform') ?? '')?.[1]),
    );
    expect(labels.map(({ textContent }) => textContent)).toContain('1×');
    expect(places.length).toBeGreaterThan(1);
    for (const [index, place] of places.slice(1).entries()) {
      expect(place - (places[index] ?? 0)).toBeGreaterThan(38);
    }
  });

  it('places a ratio of 1/4 as far left of 1 as a ratio of 4 to its right', () => {
    const [faster = 0, slower = 0, level = 0, ...others] = [
      ...document.querySelectorAll('circle'),
    ].map((dot) => numberIn(dot, 'cx'));
    expect(others).toEqual([]);
    expect(faster - level).toBeGreaterThan(50);
    expect(level - slower).toBeCloseTo(faster - level);
    const ruled = [
      ...document.querySelectorAll('[stroke="var(--quiet)"] line, line[stroke="var(--quiet)"]'),
    ].map((line) => numberIn(line, 'x1'));
    expect(ruled).toEqual([expect.closeTo(level)]);
  });
});

describe('the page', () => {
  let out: string;
  beforeEach(() => {
    out = mkdtempSync(join(tmpdir(), 'report-'));
  });
  afterEach(() => {
    rmSync(out, { recursive: true, force: true });
  });

  it('begins with a sentence and a picture for each table, which link to its section', () => {
    const names = ['calls', 'locks', 'turns', 'waits', 'words'];
    const outcomes = names.map((name) => outcomeWith(all, 'higher', name));
    writeReport({ out, tables: '' }, outcomes, ['sofas']);
    const page = readFileSync(join(out, 'report', 'index.html'), 'utf8');
    expect(page).not.toMatch(/<script|undefined|NaN|\[object/);
    const document = parse(page);
    const cards = [...(document.querySelector('main')?.firstElementChild?.children ?? [])];
    expect(cards.map((card) => card.querySelector('a')?.getAttribute('href'))).toEqual(
      names.map((name) => `#${name}`),
    );
    for (const card of cards) {
      const target = card.querySelector('a')?.getAttribute('href') ?? '';
      expect(document.querySelector(`article${target} h2`)?.textContent).toMatch(
        /^Ours is 2\.00 times slower than quick/,
      );
      expect(card.querySelector('p')?.textContent).toMatch(
        /^Ours is 2\.00 times slower than quick, the fastest peer, indoors \(98 % interval 2\.00 to 2\.00\)\.$/,
      );
      expect(card.querySelectorAll('svg[role="img"][aria-label]')).toHaveLength(1);
    }
    const notices = [...document.querySelectorAll('main > .missing')];
    expect(notices.map(({ textContent }) => textContent)).toEqual([
      'Not measured yet: sofas. make lab',
    ]);
    const picture = readFileSync(join(out, 'report', 'overview.svg'), 'utf8');
    expect(picture).not.toMatch(/undefined|NaN/);
    expect(readFileSync(join(out, 'report', 'calls.svg'), 'utf8')).toContain('the headline');
  });

  it('folds the headlines that are not certain, each with its reason and the command that settles it', () => {
    const certain = outcomeWith(all, 'higher', 'calls');
    const doubtful = outcomeWith({ ours: 100 }, 'higher', 'waits');
    writeReport({ out, tables: '' }, [certain, doubtful], []);
    const document = parse(readFileSync(join(out, 'report', 'index.html'), 'utf8'));
    expect(document.querySelectorAll('.overview > li')).toHaveLength(1);
    const folded = document.querySelector('details.uncertain');
    expect(folded?.textContent).toContain('Not certain: 1 headline');
    expect(folded?.textContent).toContain('no peer completed the row');
    expect(folded?.querySelector('code')?.textContent).toBe(
      'make lab TABLE=waits ROW=first ROUNDS=6',
    );
    for (const picture of ['overview.svg', 'overview-narrow.svg']) {
      const drawn = readFileSync(join(out, 'report', picture), 'utf8');
      expect(drawn).toContain('calls in a row');
      expect(drawn).not.toContain('waits in a row');
    }
  });

  it('shows the sentence and the published table of each table, and folds the rest', () => {
    writeReport({ out, tables: '' }, [outcomeWith(all)], []);
    const document = parse(readFileSync(join(out, 'report', 'index.html'), 'utf8'));
    const article = document.querySelector('article');
    const isFolded = (selector: string) => {
      const found = article?.querySelector(selector);
      if (!found) throw new Error(`no ${selector}`);
      return found.closest('details') !== null;
    };
    expect(isFolded('h2')).toBe(false);
    expect(isFolded('table.document')).toBe(false);
    for (const selector of ['table.rows', '.row', '.machine', '.failures']) {
      expect(isFolded(selector)).toBe(true);
    }
    expect(document.querySelectorAll('details[open]')).toHaveLength(0);
    // A link's target must be inside the section that it opens.
    for (const link of document.querySelectorAll('a[href^="#"]')) {
      const target = document.getElementById(link.getAttribute('href')?.slice(1) ?? '');
      expect(target?.localName).not.toBe('details');
      expect(target).not.toBeNull();
    }
  });
});
