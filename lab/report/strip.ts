/**
 * All samples of one row: a line per subject, a dot per sample, a rule per floor.
 *
 * The rounds of a subject are below one another, the first on top, so that drift and disturbed rounds are visible.
 * Outliers, samples or whole subjects, are drawn at the edge.
 */
import * as Plot from '@observablehq/plot';
import { quantile } from 'simple-statistics';
import type { RowOutcome, SubjectOutcome } from '../harness/outcome.js';
import { dots, draw, logarithmicTicks, valueScale } from './drawing.js';
import { describeNumber } from './format.js';

export interface StripSize {
  readonly width: number;
  /** Names are left of their line, or above it on narrow pages. */
  readonly names: 'left' | 'above';
}

const axisHeight = 42;
const characterWidth = 7.1;
/** A subject beyond this multiple of ours is shown with its figure at the edge. */
const furthest = 20;

export function drawStrip(outcome: RowOutcome, { width, names }: StripSize): string {
  const lines = outcome.subjects.filter(({ ok, value }) => ok && value);
  if (lines.length === 0) return '';
  const floors = lines.filter(({ subject }) => subject.role === 'floor');
  const lineHeight = names === 'left' ? 26 : 38;
  const longest = Math.max(...lines.map(({ subject }) => subject.name.length));
  const marginLeft = names === 'left' ? Math.ceil(longest * characterWidth) + 14 : 8;
  const marginRight = 12;

  const middleOfRow = medianOf(outcome.ours?.value ? outcome.ours : lines[0]);
  const near = (value: number) =>
    value <= middleOfRow * furthest && value >= middleOfRow / furthest;
  const x = valueScale(lines.flatMap(middle).filter(near));
  const [left, right] = x.domain;
  const ticks = x.type === 'log' ? logarithmicTicks(x.domain) : width / 130;
  const position = positionOn(x, marginLeft, width - marginRight);
  const topOf = (line: number) => line * lineHeight + (names === 'left' ? 4 : 16);
  const bandHeight = 18;

  const isInside = (line: SubjectOutcome) => medianOf(line) >= left && medianOf(line) <= right;
  const dotsOf = (line: SubjectOutcome, index: number) => {
    if (!isInside(line)) return [];
    const rounds = [...line.samples.values()];
    const step = bandHeight / rounds.length;
    return rounds.flatMap((samples, round) =>
      samples.map((sample): [number, number] => [
        position(Math.min(right, Math.max(left, sample))),
        topOf(index) + step * (round + 0.5),
      ]),
    );
  };
  const height = lines.length * lineHeight + axisHeight;

  return draw(
    {
      width,
      height,
      marginLeft,
      marginRight,
      marginTop: 4,
      marginBottom: axisHeight,
      x: { ...x, label: null },
      y: { type: 'identity', axis: null },
      marks: [
        Plot.gridX({ ticks, strokeOpacity: 0.12 }),
        Plot.axisX({
          ticks,
          tickSize: 0,
          ...(x.type === 'log' ? { tickFormat: describeNumber } : {}),
          label: `${outcome.row.unit}, ${outcome.row.better} is better`,
          labelAnchor: 'center',
          labelArrow: 'none',
          labelOffset: 38,
        }),
        Plot.ruleX(floors.filter(isInside), {
          x: medianOf,
          stroke: 'var(--floor)',
          strokeDasharray: '3 3',
        }),
        lines.map((line, index) => dots(dotsOf(line, index), line.subject.role)),
        lines.map((line, index) => [
          Plot.text(isInside(line) ? [] : [line], {
            x: medianOf(line) > right ? right : left,
            y: topOf(index) + bandHeight / 2,
            text: () => {
              const value = describeNumber(medianOf(line));
              return medianOf(line) > right ? `${value} →` : `← ${value}`;
            },
            textAnchor: medianOf(line) > right ? 'end' : 'start',
            fill: 'var(--quiet)',
          }),
          Plot.ruleX([line].filter(isInside), {
            x: medianOf,
            y1: topOf(index) - 1,
            y2: topOf(index) + bandHeight + 1,
            stroke: `var(--${line.subject.role})`,
            strokeWidth: 2,
          }),
          Plot.text([line.subject.name], {
            frameAnchor: 'left',
            textAnchor: names === 'left' ? 'end' : 'start',
            dx: names === 'left' ? -10 : 0,
            y: names === 'left' ? topOf(index) + bandHeight / 2 : topOf(index) - 8,
            fill: `var(--${line.subject.role}-text)`,
            stroke: 'var(--ground)',
            strokeWidth: 4,
            fontWeight: line.subject.role === 'ours' ? 600 : 400,
          }),
        ]),
      ],
    },
    `All samples of ${outcome.row.row}, ${outcome.row.unit}`,
  );
}

function medianOf(line: SubjectOutcome | undefined): number {
  return line?.value?.median ?? Number.NaN;
}

/** The range of nearly all samples of a subject, including its median. */
function middle(line: SubjectOutcome): number[] {
  const all = [...line.samples.values()].flat();
  return [quantile(all, 0.02), medianOf(line), quantile(all, 0.98)];
}

function positionOn(x: Plot.ScaleOptions, from: number, to: number): (value: number) => number {
  const scale = Plot.scale({ x: { ...x, range: [from, to] } });
  return (value) => Number(scale?.apply(value));
}
