/**
 * The chart of a table's headline row: each subject's median with its interval, and the nearest floor.
 *
 * Invariant: a complete SVG file, legible on white and on black.
 */
import * as Plot from '@observablehq/plot';
import { nearestFloor } from '../harness/floor.js';
import type { SubjectOutcome, TableOutcome } from '../harness/outcome.js';
import { confidence } from '../harness/statistics.js';
import { draw } from './drawing.js';
import { counted, describeNumber } from './format.js';
import { html, Markup } from './html.js';
import { headlineRow } from './sentence.js';
import { pictureStyle } from './style.js';

const width = 760;
const barHeight = 30;
const head = 62;
const foot = 40;
const characterWidth = 7.4;

export function drawPicture(outcome: TableOutcome): string | undefined {
  const row = headlineRow(outcome);
  if (!row) return undefined;
  const floor = nearestFloor(row)?.floor;
  // Distant floors would make all bars short.
  const measured = row.subjects.filter(
    (found) => found.ok && found.value && (found.subject.role !== 'floor' || found === floor),
  );
  const direction = row.row.better === 'higher' ? -1 : 1;
  const order = { ours: 0, peer: 0, floor: 1 };
  const bars = measured.sort(
    (a, b) =>
      order[a.subject.role] - order[b.subject.role] ||
      direction * ((a.value?.median ?? 0) - (b.value?.median ?? 0)),
  );
  const names = bars.map(nameOf);
  const marginLeft = Math.ceil(Math.max(...names.map((name) => name.length)) * characterWidth) + 16;
  const height = bars.length * barHeight;
  const low = (bar: SubjectOutcome) => bar.value?.low;
  const high = (bar: SubjectOutcome) => bar.value?.high;
  const median = (bar: SubjectOutcome) => bar.value?.median;

  const chart = draw(
    {
      width,
      height,
      marginLeft,
      marginRight: 84,
      marginTop: 0,
      marginBottom: 0,
      x: { axis: null, domain: [0, Math.max(...bars.map((bar) => bar.value?.high ?? 0))] },
      y: { domain: names, label: null, tickSize: 0, padding: 0.34 },
      marks: [
        Plot.barX(bars, {
          x: median,
          y: nameOf,
          fill: (bar: SubjectOutcome) => `var(--${bar.subject.role})`,
          // Floors are less prominent than subjects.
          fillOpacity: (bar: SubjectOutcome) => (bar.subject.role === 'floor' ? 0.35 : 1),
          rx: 2,
        }),
        Plot.ruleY(bars, {
          x1: low,
          x2: high,
          y: nameOf,
          stroke: 'currentColor',
          strokeWidth: 1.5,
        }),
        Plot.tickX(bars, { x: low, y: nameOf, inset: 6, stroke: 'currentColor', strokeWidth: 1.5 }),
        Plot.tickX(bars, {
          x: high,
          y: nameOf,
          inset: 6,
          stroke: 'currentColor',
          strokeWidth: 1.5,
        }),
        Plot.text(bars, {
          x: high,
          y: nameOf,
          text: (bar: SubjectOutcome) => describeNumber(bar.value?.median ?? 0),
          textAnchor: 'start',
          dx: 8,
        }),
      ],
    },
    row.row.row,
  );

  const { machine } = outcome.journal.header;
  const where = `${machine.cores} × ${machine.cpu}, Node ${machine.node}`;
  const when = `${counted(row.rounds, 'round')}, ${outcome.date.slice(0, 10)}`;
  const failed = row.subjects
    .filter(({ ok, unavailable }) => !ok && !unavailable)
    .map(({ subject }) => subject.name);
  const failures = failed.length === 0 ? '' : `; failed: ${failed.join(', ')}`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${head + height + foot}" width="${width}" height="${head + height + foot}" role="img">
<title>${row.row.row}</title>
<style>${new Markup(pictureStyle)}</style>
<text x="0" y="20" class="title">${outcome.table.title}</text>
<text x="0" y="42" class="small">${row.row.row}: ${row.row.unit}, ${row.row.better} is better; median of ${counted(row.rounds, 'round')}, ${confidence} % interval</text>
<g transform="translate(0 ${head})">${new Markup(chart)}</g>
<text x="0" y="${head + height + foot - 10}" class="small">${where}; ${when}${failures}</text>
</svg>
`.toString();
}

function nameOf({ subject, version }: SubjectOutcome): string {
  return version === null ? subject.name : `${subject.name} ${version}`;
}
