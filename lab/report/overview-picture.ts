/**
 * The chart of all tables, for the README: for each certain headline the ratio to the fastest peer, with the interval.
 *
 * Invariant: a complete SVG file. It has its own background, so it is legible on any page.
 */
import * as Plot from '@observablehq/plot';
import type { TableOutcome } from '../harness/outcome.js';
import { confidence, type Estimate } from '../harness/statistics.js';
import { draw, logarithmicTicks } from './drawing.js';
import { counted, describeNumber, describeRatio, describeRatioInterval } from './format.js';
import { html, Markup } from './html.js';
import { isCertain } from './overview.js';
import { inverseOf, isWide, sentenceOf } from './sentence.js';
import { pictureStyle } from './style.js';

interface Size {
  readonly width: number;
  /** The width of the names left of the chart; 0 if they are above it. */
  readonly namesWidth: number;
  readonly lineHeight: number;
  readonly head: number;
}

const sizes = {
  wide: { width: 760, namesWidth: 340, lineHeight: 48, head: 60 },
  narrow: { width: 360, namesWidth: 0, lineHeight: 84, head: 76 },
} as const satisfies Record<string, Size>;
const padding = 16;
const axisHeight = 28;
const foot = 32;
const figuresWidth = 140;
/** Enough for a label such as 0.01×. */
const tickWidth = 40;

const colours = {
  faster: 'var(--ours)',
  slower: 'var(--slower)',
  'no difference': 'var(--peer-text)',
} as const;

/** Returns the certain headlines; only they are in the picture. */
export function drawOverview(outcomes: readonly TableOutcome[], size: keyof typeof sizes): string {
  const { width, namesWidth, lineHeight, head }: Size = sizes[size];
  const isNarrow = namesWidth === 0;
  const certain = outcomes.flatMap(({ table, headline }) => {
    if (!headline?.ratio || headline.verdict === 'unknown') return [];
    const { ratio, verdict, bestPeer, rounds } = headline;
    return [{ table, ratio, rounds, peer: bestPeer?.name, verdict }];
  });
  const lines = certain.map(({ table, ratio, peer, verdict }, index) => ({
    y: (index + (isNarrow ? 0.72 : 0.5)) * lineHeight,
    work: table.headline?.work ?? table.title,
    peer: `against ${peer}`,
    ...figureOf(ratio, verdict),
    ratio,
    colour: colours[verdict],
  }));
  const marks = lines.map(({ ratio, ...line }) => ({ ...line, ...ratio }));
  const domain: [number, number] = [
    Math.min(1 / 1.5, ...marks.map(({ low }) => low / 1.15)),
    Math.max(1.5, ...marks.map(({ high }) => high * 1.15)),
  ];
  const ticks = logarithmicTicks(
    domain,
    (width - 2 * padding - namesWidth - figuresWidth) / tickWidth,
  );
  const chartHeight = lines.length * lineHeight;
  // Names above the chart would be crossed by lines of its full height.
  const bands = isNarrow ? lines.map(({ y }) => [y - 15, y + 15]) : [[0, chartHeight]];
  const rulesOf = (places: readonly number[]) =>
    bands.flatMap(([top, bottom]) => places.map((x) => ({ x, top, bottom })));
  const rule = { x: 'x', y1: 'top', y2: 'bottom' };
  const names = { frameAnchor: 'left', dx: -namesWidth } as const;
  const bold = { fontSize: 15, fontWeight: 600 };
  const write = (text: keyof (typeof lines)[number], options: Plot.TextOptions) =>
    Plot.text(lines, { text, y: 'y', textAnchor: 'start', ...options });

  const chart = draw(
    {
      width: width - 2 * padding,
      height: chartHeight + axisHeight,
      marginLeft: namesWidth,
      marginRight: figuresWidth,
      marginTop: 0,
      marginBottom: axisHeight,
      x: { type: 'log', domain, label: null },
      y: { type: 'identity', axis: null },
      marks: [
        Plot.ruleX(rulesOf(ticks), { ...rule, stroke: 'var(--line)' }),
        Plot.axisX({ ticks, tickSize: 0, tickFormat: (tick) => `${describeNumber(tick)}×` }),
        Plot.ruleX(rulesOf([1]), { ...rule, stroke: 'var(--quiet)', strokeWidth: 1.5 }),
        Plot.ruleY(marks, { x1: 'low', x2: 'high', y: 'y', stroke: 'colour', strokeWidth: 3 }),
        Plot.dot(marks, { x: 'median', y: 'y', r: 5.5, fill: 'colour' }),
        write('figure', { frameAnchor: 'right', dx: 14, dy: -8, ...bold, fill: 'colour' }),
        write('interval', { frameAnchor: 'right', dx: 14, dy: 9, fill: 'var(--quiet)' }),
        write('work', { ...names, dy: isNarrow ? -43 : -8, fontSize: 13, fill: 'currentColor' }),
        write('peer', { ...names, dy: isNarrow ? -26 : 9, fill: 'var(--quiet)' }),
      ],
    },
    outcomes.filter(isCertain).map(sentenceOf).join(' '),
  );

  const places = outcomes.filter(isCertain).map(({ journal }) => {
    const { cores, cpu, node } = journal.header.machine;
    return `${counted(cores, 'core')} of ${cpu}, Node ${node}`;
  });
  const dates = outcomes
    .filter(isCertain)
    .map(({ date }) => date.slice(0, 10))
    .sort();
  const rounds = certain.map((one) => one.rounds).sort((a, b) => a - b);
  const conditions =
    certain.length === 0
      ? ['no result is certain yet']
      : [...new Set(places), range(dates), `${range(rounds)} rounds`];
  const height = head + chartHeight + axisHeight + foot + (isNarrow ? 32 : 0);
  const title = isNarrow
    ? 'Pointsman and the fastest peer'
    : 'How many times faster Pointsman is than the fastest peer';
  const about = [
    `ratio with its ${confidence} % interval,`,
    'logarithmic; left of 1× the peer is faster',
  ];
  const subtitle = isNarrow ? about : [about.join(' ')];
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${title}</title>
<style>${new Markup(pictureStyle)}</style>
<rect class="ground" width="${width}" height="${height}" rx="8"/>
<text x="${padding}" y="28" class="title">${title}</text>
${subtitle.map((line, index) => html`<text x="${padding}" y="${47 + 16 * index}" class="small">${line}</text>`)}
<g transform="translate(${padding} ${head})">${new Markup(chart)}</g>
${(isNarrow ? conditions : [conditions.join('; ')]).map((line, index, all) => html`<text x="${padding}" y="${height - 12 - 16 * (all.length - 1 - index)}" class="small">${line}</text>`)}
</svg>
`.toString();
}

/** The figure as the sentence states it, and the interval in the same direction. */
function figureOf(ratio: Estimate, verdict: keyof typeof colours) {
  const stated = verdict === 'slower' ? inverseOf(ratio) : ratio;
  const interval = describeRatioInterval(stated);
  if (verdict === 'no difference') return { figure: verdict, interval };
  const factor = isWide(stated) ? `≥ ${describeRatio(stated.low)}` : describeRatio(stated.median);
  return { figure: `${factor}× ${verdict}`, interval };
}

/** The first and the last date, or the only one. */
function range(sorted: readonly (string | number)[]): string {
  return [...new Set([sorted[0], sorted.at(-1)])].join(' to ');
}
