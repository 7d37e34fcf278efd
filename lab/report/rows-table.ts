/**
 * All rows of a table, one per line: the floor, ours, the best peer, the ratio, the verdict.
 */

import { nearestFloor } from '../harness/floor.js';
import type { RowOutcome } from '../harness/outcome.js';
import { rowAnchor } from './cell-section.js';
import { describeNumber, describeShare } from './format.js';
import { html, type Markup } from './html.js';
import { ratioScale } from './interval-mark.js';
import { processorTime } from './processor-time.js';
import { ratioCell } from './ratio-cell.js';
import { describeDoubt, verdictClass, verdictWord } from './verdict.js';

export function rowsTable(table: string, outcomes: readonly RowOutcome[]): Markup {
  const scale = ratioScale(outcomes.map(({ ratio }) => ratio));
  return html`<div class="scroll"><table class="rows">
<thead><tr><th scope="col">Row</th><th scope="col">Of the floor</th><th scope="col">Ours</th><th scope="col" class="peer-column">Best peer</th><th scope="col">Times better, 98&nbsp;% interval</th><th scope="col">Verdict</th></tr></thead>
<tbody>
${outcomes.map((outcome) => {
  const { row, ours, bestPeer, verdict } = outcome;
  const floor = nearestFloor(outcome);
  const best = bestPeer?.value;
  return html`<tr>
<th scope="row"><a href="#${rowAnchor(table, row)}">${row.row}</a> <span class="unit">${row.unit}, ${row.better} is better</span></th>
<td data-label="Of the floor">${floor ? html`${describeShare(floor.share)} <span class="range">of ${describeNumber(floor.median)}</span>` : '–'}</td>
<td class="here" data-label="Ours">${ours?.value ? html`${describeNumber(ours.value.median)}${processorTime(ours)}` : html`<span class="absent">${ours?.unavailable ? 'not here' : 'failed'}</span>`}</td>
<td class="peer-column" data-label="Best peer">${best ? html`${describeNumber(best.median)} <span class="range">${bestPeer.subject.name}</span>${processorTime(bestPeer)}` : '–'}</td>
${ratioCell(outcome, 'Times better', scale)}
<td class="verdict ${verdictClass(verdict)}" data-label="Verdict">${verdictWord(verdict)}${verdict === 'unknown' && html`<span class="doubt">${describeDoubt(outcome)}</span>`}</td>
</tr>`;
})}
</tbody>
</table></div>`;
}
