/**
 * The chart of all tables, for the README: for each certain headline the ratio to the fastest peer, with the interval.
 *
 * Invariant: a complete SVG file. It has its own background, so it is legible on any page.
 */
import * as Plot from '@observablehq/plot';
import type { TableOutcome } from '../harness/outcome.js';
import { draw, logarithmicTicks } from './drawing.js';
import { describeNumber, describeRatio } from './format.js';
import { html, Markup } from './html.js';
import { isCertain } from './overview.js';
import { sentenceOf } from './sentence.js';
import { pictureStyle } from './style.js';

interface Size {
  readonly width: number;
  /** The width of the names left of the chart; 0 if they are above it. */
  readonly namesWidth: number;
  readonly lineHeight: number;
  readonly head: number;
}

const sizes = {
  wide: { width: 760, namesWidth: 340, lineHeight: 46, head: 56 },
  narrow: { width: 360, namesWidth: 0, lineHeight: 74, head: 72 },
} as const satisfies Record<string, Size>;
const padding = 16;
const axisHeight = 28;
const foot = 32;
const figuresWidth = 64;
/** For text that crosses a line of the chart. */
const outline = { stroke: 'var(--ground)', strokeWidth: 4 };

const looks = {
  faster: { colour: 'var(--ours)', words: 'against' },
  slower: { colour: 'var(--slower)', words: 'slower than' },
  'no difference': { colour: 'var(--peer)', words: 'no difference to' },
} as const;

/** Returns the certain headlines; only they are in the picture. */
export function drawOverview(outcomes: readonly TableOutcome[], size: keyof typeof sizes): string {
  const { width, namesWidth, lineHeight, head }: Size = sizes[size];
  const isNarrow = namesWidth === 0;
  const certain = outcomes.flatMap(({ table, headline }) => {
    if (!headline?.ratio || headline.verdict === 'unknown') return [];
    const { ratio, verdict, bestPeer, rounds } = headline;
    return [{ table, ratio, rounds, peer: bestPeer?.name, look: looks[verdict] }];
  });
  const lines = certain.map(({ table, ratio, peer, look }, index) => ({
    y: (index + (isNarrow ? 0.8 : 0.5)) * lineHeight,
    work: table.headline?.work ?? table.title,
    detail: `${look.words} ${peer}`,
    ratio,
    colour: look.colour,
  }));
  const marks = lines.map(({ ratio, ...line }) => ({ ...line, ...ratio }));
  const domain: [number, number] = [
    Math.min(1 / 1.5, ...marks.map(({ low }) => low / 1.15)),
    Math.max(1.5, ...marks.map(({ high }) => high * 1.15)),
  ];
  const ticks = logarithmicTicks(domain);
  const chartHeight = lines.length * lineHeight;

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
        Plot.gridX({ ticks, strokeOpacity: 0.12 }),
        Plot.axisX({ ticks, tickSize: 0, tickFormat: describeNumber }),
        Plot.ruleX([1], { stroke: 'var(--quiet)', strokeWidth: 1.5 }),
        Plot.ruleY(marks, { x1: 'low', x2: 'high', y: 'y', stroke: 'colour', strokeWidth: 3 }),
        Plot.dot(marks, { x: 'median', y: 'y', r: 5.5, fill: 'colour' }),
        Plot.text(marks, {
          frameAnchor: 'right',
          y: 'y',
          text: ({ median }) => describeRatio(median),
          textAnchor: 'start',
          dx: 12,
          fontSize: 16,
          fontWeight: 600,
          fill: 'colour',
        }),
        Plot.text(lines, {
          frameAnchor: 'left',
          y: 'y',
          text: 'work',
          textAnchor: 'start',
          dx: -namesWidth,
          dy: isNarrow ? -38 : -8,
          ...outline,
          fill: 'currentColor',
          fontSize: 13,
        }),
        Plot.text(lines, {
          frameAnchor: 'left',
          y: 'y',
          text: 'detail',
          textAnchor: 'start',
          dx: -namesWidth,
          dy: isNarrow ? -21 : 9,
          ...outline,
          fill: 'var(--quiet)',
        }),
      ],
    },
    outcomes.filter(isCertain).map(sentenceOf).join(' '),
  );

  const places = outcomes.filter(isCertain).map(({ journal }) => {
    const { cores, cpu, node } = journal.header.machine;
    return `${cores} × ${cpu}, Node ${node}`;
  });
  const dates = outcomes
    .filter(isCertain)
    .map(({ date }) => date.slice(0, 10))
    .sort();
  const rounds = certain.map((one) => one.rounds).sort((a, b) => a - b);
  const conditions = [...new Set(places), range(dates), `rounds: ${range(rounds)}`];
  const height = head + chartHeight + axisHeight + foot + (isNarrow ? 32 : 0);
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>How many times faster than the fastest peer</title>
<style>${new Markup(pictureStyle)}</style>
<rect class="ground" width="${width}" height="${height}" rx="8"/>
<text x="${padding}" y="28" class="title">${isNarrow ? 'Times faster than the fastest peer' : 'How many times faster than the fastest peer'}</text>
<text x="${padding}" y="46" class="small">left of 1 the peer is faster; logarithmic;${isNarrow ? '' : ' ratio and 95 % interval over rounds'}</text>
${isNarrow && html`<text x="${padding}" y="62" class="small">ratio and 95 % interval over rounds</text>`}
<g transform="translate(${padding} ${head})">${new Markup(chart)}</g>
${(isNarrow ? conditions : [conditions.join('; ')]).map((line, index, all) => html`<text x="${padding}" y="${height - 12 - 16 * (all.length - 1 - index)}" class="small">${line}</text>`)}
</svg>
`.toString();
}

/** The first and the last date, or the only one. */
function range(sorted: readonly (string | number)[]): string {
  return [...new Set([sorted[0], sorted.at(-1)])].join(' to ');
}
