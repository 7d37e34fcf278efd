/**
 * The published table, run again, where it has its figures below one another: a line for each figure, a
 * column for each subject, as published and from here; then the subjects that the document lacks.
 */
import { noteOf, type RowOutcome, type SubjectOutcome } from '../harness/outcome.js';
import { columnOf } from './document-cells.js';
import { describeNumber, describePublished } from './format.js';
import { html, type Markup } from './html.js';

export function documentLines(rows: readonly RowOutcome[]): Markup {
  const found = new Map(
    rows.flatMap(({ subjects }) => subjects).map((line) => [line.subject.name, line]),
  );
  const all = [...found.values()].filter(({ subject }) => subject.role !== 'floor');
  const isPublished = ({ subject }: SubjectOutcome) =>
    rows.some(({ row }) => subject.name in (row.published ?? {}));
  const published = all.filter(isPublished);
  const others = all.filter((line) => !isPublished(line));
  const head = ({ subject, version }: SubjectOutcome, columns: number) =>
    html`<th colspan="${columns}" scope="colgroup">${subject.name}${version && html` <span class="version">${version}</span>`}</th>`;

  return html`<div class="scroll"><table class="document tests">
<thead>
<tr><th rowspan="2" scope="col">Figure</th>${published.map((line) => head(line, 2))}${others.map((line) => head(line, 1))}</tr>
<tr>${published.map(() => html`<th scope="col">published</th><th scope="col">here</th>`)}${others.map(() => html`<th scope="col">here</th>`)}</tr>
</thead>
<tbody>
${rows.map(
  (row) => html`<tr>
<th scope="row">${columnOf(row)} <span class="unit">${row.row.unit}</span></th>
${published.map((line) => [publishedCell(row, line), hereCell(row, line)])}
${others.map((line) => hereCell(row, line))}
</tr>`,
)}
</tbody>
</table></div>
<ul class="notes">${all.map((line) => html`<li><span>${line.subject.name}</span> ${noteOf(line)}</li>`)}</ul>`;
}

function publishedCell({ row }: RowOutcome, { subject }: SubjectOutcome): Markup {
  const value = row.published?.[subject.name];
  return html`<td class="published" data-label="${subject.name}, published">${value === undefined ? '–' : describePublished(value)}</td>`;
}

function hereCell(row: RowOutcome, { subject }: SubjectOutcome): Markup {
  const value = row.subjects.find((candidate) => candidate.subject.name === subject.name)?.value;
  return html`<td class="here" data-label="${subject.name}, here">${value ? describeNumber(value.median) : '–'}</td>`;
}
