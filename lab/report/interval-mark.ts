/**
 * A ratio with its interval as a mark on a line, small enough for a table's cell: the rule is 1
 * (level), the shaded band is the row's noise, right of it ours is better.
 */
import type { Estimate, Verdict } from '../harness/statistics.js';
import { html, type Markup } from './html.js';
import { verdictClass } from './verdict.js';

const width = 104;
const height = 16;
const margin = 4;
const furthest = 4;

/** One scale for all marks of a table, so that they can be compared down the column. */
export type RatioScale = (ratio: number) => number;

export function ratioScale(ratios: readonly (Estimate | null)[]): RatioScale {
  const lows = ratios.flatMap((ratio) => ratio?.low ?? []);
  const highs = ratios.flatMap((ratio) => ratio?.high ?? []);
  const from = Math.log(Math.max(1 / furthest, Math.min(1 / 1.1, ...lows)));
  const to = Math.log(Math.min(furthest, Math.max(1.1, ...highs)));
  return (ratio) => {
    const share = (Math.log(ratio) - from) / (to - from);
    return Math.round(margin + (width - 2 * margin) * Math.max(0, Math.min(1, share)));
  };
}

export function intervalMark(
  ratio: Estimate | null,
  noise: number | null,
  verdict: Verdict,
  scale: RatioScale,
): Markup {
  if (!ratio) return html``;
  const [low, middle, high] = [scale(ratio.low), scale(ratio.median), scale(ratio.high)];
  const [from, to] = noise === null ? [scale(1), scale(1)] : [scale(1 / noise), scale(noise)];
  return html`<svg class="interval ${verdictClass(verdict)}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-hidden="true">
<rect class="noise" x="${from}" width="${to - from}" y="0" height="${height}"/>
<path class="level" d="M${scale(1)} 0V${height}"/>
<path class="reach" d="M${low} ${height / 2}H${high}"/>
<circle cx="${middle}" cy="${height / 2}" r="3.5"/>
</svg>`;
}
