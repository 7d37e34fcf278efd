/**
 * The published tests, run again: a table for each, the first of them open. It has the document's columns, and in each
 * the published figure, the median from here, and how many times better ours is.
 */
import { counts } from '../harness/floor.js';
import type { RowOutcome, SubjectOutcome } from '../harness/outcome.js';
import { columnOf, nameCell, notesOf, publishedCell } from './document-cells.js';
import { counted, describeNumber, describeRatio, describeShare } from './format.js';
import { html, type Markup } from './html.js';
import { verdictClass } from './verdict.js';

export function documentTests(rows: readonly RowOutcome[]): Markup {
  const headings = [...new Set(rows.map(({ row }) => row.heading))];
  const tests = headings.map((heading) => rows.filter(({ row }) => row.heading === heading));
  const lines = new Map(
    rows.flatMap(({ subjects }) => subjects).map((line) => [line.subject.name, line]),
  );
  const [first, ...further] = tests;
  const folded = further.map(
    (rows) => html`<details><summary>${rows[0]?.row.heading}</summary>${test(rows)}</details>`,
  );
  return html`${first && test(first)}
${folded}
${notesOf([...lines.values()], ({ subject }) => subject.note ?? '')}`;
}

function test(rows: readonly RowOutcome[]): Markup {
  const [first] = rows;
  if (!first) return html``;
  const { row, rounds, subjects } = first;
  const isOneUnit = rows.every((other) => other.row.unit === row.unit);
  return html`<div class="scroll"><table class="document tests">
<caption>${row.about} ${isOneUnit && html`In ${row.unit}, ${row.better} is better; `}${counted(rounds, 'round')}.</caption>
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
</table></div>`;
}

function figures(column: RowOutcome, { subject }: SubjectOutcome): Markup {
  const name = columnOf(column);
  const published = column.row.published?.[subject.name];
  const here = column.subjects.find((candidate) => candidate.subject.name === subject.name);
  const ours = column.ours?.subject.name ?? 'ours';
  return html`${publishedCell(published, `${name}, published`)}
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
