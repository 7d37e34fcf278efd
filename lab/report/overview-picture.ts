/**
 * The chart of all tables, for the README: for each headline row the ratio to the fastest peer, with the interval.
 *
 * Invariant: a complete SVG file. It has its own background, so it is legible on any page.
 */
import * as Plot from '@observablehq/plot';
import type { TableOutcome } from '../harness/outcome.js';
import { fewestRounds } from '../harness/statistics.js';
import { draw, logarithmicTicks } from './drawing.js';
import { describeNumber, describeRatio } from './format.js';
import { html, Markup } from './html.js';
import { sentenceOf } from './sentence.js';
import { pictureStyle } from './style.js';

const width = 760;
const padding = 16;
const head = 56;
const lineHeight = 46;
const axisHeight = 28;
const foot = 32;
const namesWidth = 340;
const figuresWidth = 64;

const looks = {
  faster: { colour: 'var(--ours)', words: 'against' },
  slower: { colour: 'var(--slower)', words: 'slower than' },
  'no difference': { colour: 'var(--peer)', words: 'no difference to' },
  unknown: { colour: 'var(--peer)', words: 'not known for certain, against' },
} as const;

export function drawOverview(outcomes: readonly TableOutcome[]): string {
  const lines = outcomes.map((outcome, index) => {
    const { headline } = outcome;
    const look =
      headline?.ratio && headline.rounds >= fewestRounds ? looks[headline.verdict] : undefined;
    return {
      y: index * lineHeight + lineHeight / 2,
      work: outcome.table.headline?.work ?? outcome.table.title,
      detail: look ? `${look.words} ${headline?.bestPeer?.name}` : 'no verdict yet',
      ratio: look && headline?.ratio,
      colour: look?.colour,
    };
  });
  const marks = lines.flatMap(({ ratio, ...line }) => (ratio ? [{ ...line, ...ratio }] : []));
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
          dy: -8,
          fontSize: 13,
        }),
        Plot.text(lines, {
          frameAnchor: 'left',
          y: 'y',
          text: 'detail',
          textAnchor: 'start',
          dx: -namesWidth,
          dy: 9,
          fill: 'var(--quiet)',
        }),
      ],
    },
    outcomes.map(sentenceOf).join(' '),
  );

  const places = outcomes.map(({ journal }) => {
    const { cores, cpu, node } = journal.header.machine;
    return `${cores} × ${cpu}, Node ${node}`;
  });
  const dates = outcomes.map(({ date }) => date.slice(0, 10)).sort();
  const rounds = outcomes.flatMap(({ headline }) => headline?.rounds ?? []).sort((a, b) => a - b);
  const conditions = [...new Set(places), range(dates), `rounds: ${range(rounds)}`];
  const height = head + chartHeight + axisHeight + foot;
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>How many times faster than the fastest peer</title>
<style>${new Markup(pictureStyle)}</style>
<rect class="ground" width="${width}" height="${height}" rx="8"/>
<text x="${padding}" y="28" class="title">How many times faster than the fastest peer</text>
<text x="${padding}" y="46" class="small">left of 1 the peer is faster; logarithmic; median and 95 % interval over rounds</text>
<g transform="translate(${padding} ${head})">${new Markup(chart)}</g>
<text x="${padding}" y="${height - 12}" class="small">${conditions.join('; ')}</text>
</svg>
`.toString();
}

/** The range of dates, or the only date. */
function range(sorted: readonly (string | number)[]): string {
  return [...new Set([sorted[0], sorted.at(-1)])].join(' to ');
}
