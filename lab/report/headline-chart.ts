/**
 * The chart of a table's headline row, on the overview and in its section: bars for ours and the fastest peers, and a thin
 * line for the floor.
 *
 * Invariant: all bars begin at 0 and share one scale, so their lengths compare as their figures do.
 */
import * as Plot from '@observablehq/plot';
import { max } from 'simple-statistics';
import { nearestFloor } from '../harness/floor.js';
import type { RowOutcome, SubjectOutcome } from '../harness/outcome.js';
import type { Estimate } from '../harness/statistics.js';
import { draw } from './drawing.js';
import { describeNumber } from './format.js';

const mostPeers = 4;
const lineHeight = 25;
const textHeight = 17;
const barHeight = 7;
/** A floor beyond this multiple of the longest bar is shown at the edge, as it would make all bars short. */
const furthestFloor = 3;

interface Bar {
  readonly found: SubjectOutcome;
  readonly value: Estimate;
}

export function headlineChart(outcome: RowOutcome, width: number): string {
  const { row, subjects, ours } = outcome;
  const direction = row.better === 'higher' ? -1 : 1;
  const byMerit = (a: Bar, b: Bar) => direction * (a.value.median - b.value.median);
  // Peers that did less work are omitted: their note is in the table's section.
  const peers = subjects
    .filter(({ subject, unequal }) => subject.role === 'peer' && !unequal)
    .flatMap(barOf)
    .sort(byMerit);
  const bars = [...(ours ? barOf(ours) : []), ...peers.slice(0, mostPeers)].sort(byMerit);
  if (bars.length === 0) return '';

  const longest = max(bars.map(({ value }) => value.high));
  const floor = nearestFloor(outcome)?.median;
  const isInside = floor !== undefined && floor <= longest * furthestFloor;
  const right = isInside ? Math.max(longest, floor) : longest;
  const isFloorOnTheRight = floor !== undefined && floor > right / 2;
  const floorHeight = floor === undefined ? 0 : textHeight;
  const topOf = (index: number) => floorHeight + index * lineHeight;
  const bottom = topOf(bars.length);
  const floorWords = `floor ${describeNumber(floor ?? 0)}${isInside ? '' : ' →'}`;
  const few = peers.length > mostPeers ? `; the ${mostPeers} fastest of ${peers.length} peers` : '';
  const direct = `${row.unit}, ${row.better} is better${few}`;
  const figures = bars.map(
    ({ found, value }) => `${found.subject.name} ${describeNumber(value.median)}`,
  );

  return draw(
    {
      width,
      height: bottom + textHeight,
      margin: 0,
      x: { axis: null, domain: [0, right], range: [0, width - 1] },
      y: { type: 'identity', axis: null },
      marks: [
        Plot.ruleX(isInside ? [floor] : [], {
          y1: textHeight - 2,
          y2: bottom,
          stroke: 'var(--floor)',
          strokeDasharray: '3 3',
        }),
        bars.map(({ found, value }, index) => {
          const isOurs = found === ours;
          const name = {
            y: topOf(index) + 9,
            stroke: 'var(--ground)',
            strokeWidth: 4,
            fill: isOurs ? 'var(--ours-text)' : 'var(--peer-text)',
            fontWeight: isOurs ? 600 : 400,
          };
          const top = topOf(index) + textHeight;
          return [
            Plot.text([found.subject.name], { ...name, frameAnchor: 'left' }),
            Plot.text([describeNumber(value.median)], { ...name, frameAnchor: 'right' }),
            Plot.rect([value], {
              x1: 0,
              x2: 'median',
              y1: top,
              y2: top + barHeight,
              fill: `var(--${found.subject.role})`,
              rx: 1,
            }),
            Plot.ruleY([value], {
              x1: 'low',
              x2: 'high',
              y: top + barHeight / 2,
              stroke: 'currentColor',
              strokeWidth: 1.5,
            }),
          ];
        }),
        Plot.text(floor === undefined ? [] : [isInside ? floor : right], {
          x: Plot.identity,
          y: 8,
          text: () => floorWords,
          textAnchor: isFloorOnTheRight ? 'end' : 'start',
          fill: 'var(--floor-text)',
        }),
        Plot.text([direct], { frameAnchor: 'bottom-left', fill: 'var(--quiet)' }),
      ],
    },
    `${row.row}, ${direct}: ${figures.join(', ')}${floor === undefined ? '' : `; floor ${describeNumber(floor)}`}`,
  );
}

function barOf(found: SubjectOutcome): Bar[] {
  return found.ok && found.value ? [{ found, value: found.value }] : [];
}
