/**
 * One cell in full: for each row its description, a picture of all samples and all figures; then the subjects that failed,
 * and the command that repeats it.
 */

import { nearestFloor } from '../harness/floor.js';
import {
  noteOf,
  type RowOutcome,
  type SubjectOutcome,
  type TableOutcome,
} from '../harness/outcome.js';
import { repeatCommand } from '../harness/repeat.js';
import type { Row } from '../harness/table.js';
import {
  counted,
  describeExcess,
  describeInterval,
  describeNumber,
  describePublished,
  describeRatio,
  describeRatioInterval,
  describeShare,
} from './format.js';
import { html, Markup } from './html.js';
import { processorTime } from './processor-time.js';
import { drawStrip } from './strip.js';
import { describeDoubt, verdictClass } from './verdict.js';

export function rowAnchor(table: string, row: Row): string {
  return `${table}-${row.row.replace(/[^\w]+/g, '-')}`;
}

export function cellSection({ table }: TableOutcome, outcomes: readonly RowOutcome[]): Markup {
  const [first] = outcomes;
  if (!first) return html``;
  const failed = first.subjects.filter(({ ok }) => !ok);
  return html`<section class="cell">
${outcomes.map((outcome) => rowPart(table.table, outcome))}
${failed.length > 0 && html`<ul class="failures">${failed.map(({ subject, note, unavailable }) => html`<li><strong>${subject.name}</strong> ${unavailable ? note : `failed: ${note}`}</li>`)}</ul>`}
<p class="conditions">${conditionsOf(first)}<br><code>${repeatCommand({ TABLE: table.table, ROW: first.cell.id, ROUNDS: first.rounds })}</code></p>
</section>`;
}

function rowPart(table: string, outcome: RowOutcome): Markup {
  const { row } = outcome;
  return html`<div class="row" id="${rowAnchor(table, row)}">
<h4>${row.row}</h4>
<p class="about">${row.about}</p>
<div class="sides">
<figure>
<div class="wide">${new Markup(drawStrip(outcome, { width: 848, names: 'left' }))}</div>
<div class="narrow">${new Markup(drawStrip(outcome, { width: 328, names: 'above' }))}</div>
</figure>
${upshot(outcome)}
</div>
<details>
<summary>All figures</summary>
${figures(outcome)}
</details>
</div>`;
}

/** The row's verdict in words. */
function upshot(outcome: RowOutcome): Markup {
  const { ratio, worstRatio, verdict, bestPeer, ours, noise } = outcome;
  const floor = nearestFloor(outcome);
  const peer = bestPeer?.subject.name;
  const words = {
    faster: `times better than ${peer}`,
    slower: `times as good as ${peer}`,
    'no difference': `times as good as ${peer}: no difference`,
    unknown: peer === undefined ? '' : `times as good as ${peer}`,
  };
  return html`<div class="upshot ${verdictClass(verdict)}">
<p>${ratio && html`<strong>${describeRatio(ratio.median)}</strong> `}${words[verdict]}${verdict === 'unknown' && html`<span class="range">not certain: ${describeDoubt(outcome)}</span>`}${ratio && html`<span class="range">98&nbsp;% interval ${describeRatioInterval(ratio)}</span>`}${worstRatio !== null && html`<span class="range">worst round ${describeRatio(worstRatio)}</span>`}${noise !== null && html`<span class="range">the same code differed from itself by up to ${describeExcess(noise)}</span>`}</p>
${floor && html`<p>${describeShare(floor.share)} of the floor<span class="range">${floor.floor.subject.name}</span></p>`}
${ours && !ours.ok && html`<p class="absent">${ours.subject.name} failed</p>`}
</div>`;
}

function conditionsOf({ cell, rounds, foreignShare }: RowOutcome): string {
  return [
    counted(rounds, 'round'),
    cell.whole === undefined ? '' : `not sliced: ${cell.whole}`,
    foreignShare === null
      ? 'foreign load not measured'
      : `foreign load ${describeShare(foreignShare)}`,
  ]
    .filter(Boolean)
    .join(' · ');
}

function figures({ row, subjects, ours, rounds }: RowOutcome): Markup {
  const line = (outcome: SubjectOutcome) => {
    const { subject, version, ok, value, ratio, worstRatio, verdict } = outcome;
    return html`<tr class="${subject.role}${!ok && ' failed'}">
<th scope="row">${subject.name}${version && html` <span class="version">${version}</span>`}</th>
<td class="here" data-label="Median">${value ? html`${describeNumber(value.median)}${processorTime(outcome)}` : html`<span class="absent">${outcome.unavailable ? 'not here' : 'failed'}</span>`}</td>
<td data-label="Range of rounds">${value ? describeInterval(value) : '–'}</td>
${row.published && html`<td class="published" data-label="Published">${describeOptional(row.published[subject.name])}</td>`}
<td class="ratio ${verdictClass(verdict)}" data-label="${ours?.subject.name ?? 'Ours'} against it">${ratio ? html`<strong>${describeRatio(ratio.median)}</strong> <span class="range">${describeRatioInterval(ratio)}</span>` : '–'}</td>
<td data-label="Worst round">${worstRatio === null ? '–' : describeRatio(worstRatio)}</td>
<td class="note" data-label="Note">${noteOf(outcome)}</td>
</tr>`;
  };
  return html`<div class="scroll"><table class="figures">
<caption>${row.unit}, ${row.better} is better; medians of ${counted(rounds, 'round')}</caption>
<thead><tr><th scope="col">Subject</th><th scope="col">Median</th><th scope="col">Range of rounds</th>${row.published && html`<th scope="col">Published</th>`}<th scope="col">${ours?.subject.name ?? 'Ours'} against it</th><th scope="col">Worst round</th><th scope="col" class="note">Note</th></tr></thead>
<tbody>${subjects.map(line)}</tbody>
</table></div>`;
}

function describeOptional(published: number | undefined): string {
  return published === undefined ? '–' : describePublished(published);
}
