/**
 * A table cell with the ratio to the best peer of a row, its interval and the worst round.
 */
import type { RowOutcome } from '../harness/outcome.js';
import { describeRatio, describeRatioInterval } from './format.js';
import { html, type Markup } from './html.js';
import { intervalMark, type RatioScale } from './interval-mark.js';
import { verdictClass } from './verdict.js';

export function ratioCell(
  { ratio, worstRatio, noise, verdict }: RowOutcome,
  label: string,
  scale: RatioScale,
): Markup {
  return html`<td class="ratio ${verdictClass(verdict)}" data-label="${label}">${ratio && html`<strong>${describeRatio(ratio.median)}</strong> <span class="range">${describeRatioInterval(ratio)}</span> ${intervalMark(ratio, noise, verdict, scale)}`}${worstRatio !== null && html`<span class="worst">worst round ${describeRatio(worstRatio)}</span>`}</td>`;
}
