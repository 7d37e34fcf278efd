/**
 * The published tests, run again: a table for each, with the document's own columns, and in each
 * column the figure as published, the median from here, and how many times better ours is.
 */
import { counts } from '../harness/floor.js';
import { noteOf, type RowOutcome, type SubjectOutcome } from '../harness/outcome.js';
import { columnOf, nameCell } from './document-cells.js';
import {
  counted,
  describeNumber,
  describePublished,
  describeRatio,
  describeShare,
} from './format.js';
import { html, type Markup } from './html.js';
import { verdictClass } from './verdict.js';

export function documentTests(rows: readonly RowOutcome[]): Markup {
  const headings = [...new Set(rows.map(({ row }) => row.heading))];
  const tests = headings.map((heading) => rows.filter(({ row }) => row.heading === heading));
  const lines = new Map(
    rows.flatMap(({ subjects }) => subjects).map((line) => [line.subject.name, line]),
  );
  const notes = [...lines.values()].filter(({ subject }) => subject.note);
  return html`${tests.map(test)}
<ul class="notes">${notes.map(({ subject }) => html`<li><span>${subject.name}</span> ${subject.note}</li>`)}</ul>`;
}

function test(rows: readonly RowOutcome[]): Markup {
  const [first] = rows;
  if (!first) return html``;
  const { row, rounds, subjects } = first;
  const failed = subjects.filter(({ ok }) => !ok);
  return html`<div class="scroll"><table class="document tests">
<caption>${row.about} In ${row.unit}, ${row.better} is better; ${counted(rounds, 'interleaved round')}.</caption>
<thead>
<tr><th rowspan="2" scope="col">Library</th>${rows.map((column) => html`<th colspan="3" scope="colgroup">${columnOf(column)}</th>`)}</tr>
<tr>${rows.map(() => html`<th scope="col">published</th><th scope="col">here</th><th scope="col">ours: times better</th>`)}</tr>
</thead>
<tbody>
${subjects.map(
  (line) => html`<tr class="${line.subject.role}${!line.ok && !line.unavailable && ' failed'}">
${nameCell(line)}
${rows.map((column) => figures(column, line))}
</tr>`,
)}
</tbody>
</table></div>
<ul class="notes">${failed.map((line) => html`<li><span>${line.subject.name}</span> ${noteOf(line)}</li>`)}</ul>`;
}

function figures(column: RowOutcome, { subject }: SubjectOutcome): Markup {
  const name = columnOf(column);
  const published = column.row.published?.[subject.name];
  const here = column.subjects.find((candidate) => candidate.subject.name === subject.name);
  const ours = column.ours?.subject.name ?? 'ours';
  return html`<td class="published" data-label="${name}, published">${published === undefined ? '' : describePublished(published)}</td>
<td class="${here?.unavailable ? 'published' : 'here'}" data-label="${name}, here">${here && hereText(here)}</td>
<td class="ratio ${here && verdictClass(here.verdict)}" data-label="${name}, ${ours} against it">${here && ratioText(column, here)}</td>`;
}

function hereText({ value, unavailable }: SubjectOutcome): Markup | string {
  if (value) return describeNumber(value.median);
  return unavailable ? 'not here' : html`<span class="absent">failed</span>`;
}

function ratioText({ row }: RowOutcome, { subject, ratio }: SubjectOutcome): Markup | string {
  if (!ratio || (subject.role === 'floor' && !counts(row, subject))) return '';
  if (subject.role === 'floor') return describeShare(ratio.median);
  return html`<strong>${describeRatio(ratio.median)}</strong>`;
}
