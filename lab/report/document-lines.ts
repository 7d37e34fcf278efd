/**
 * The published table, repeated, for a document with a line per figure or test: a column per subject with the published
 * figure and the one from here, then the subjects that the document lacks. If each line is a test, the last column is the
 * ratio to the fastest peer.
 */
import { noteOf, type RowOutcome, type SubjectOutcome } from '../harness/outcome.js';
import type { Table } from '../harness/table.js';
import { columnOf, notesOf, publishedCell } from './document-cells.js';
import { describeNumber } from './format.js';
import { html, type Markup } from './html.js';
import { ratioScale } from './interval-mark.js';
import { ratioCell } from './ratio-cell.js';

const againstPeer = 'ours against the best peer';

export function documentLines(
  rows: readonly RowOutcome[],
  layout: NonNullable<NonNullable<Table['document']>['layout']>,
): Markup {
  const found = new Map(
    rows.flatMap(({ subjects }) => subjects).map((line) => [line.subject.name, line]),
  );
  const all = [...found.values()].filter(({ subject }) => subject.role !== 'floor');
  const isPublished = ({ subject }: SubjectOutcome) =>
    rows.some(({ row }) => subject.name in (row.published ?? {}));
  const published = all.filter(isPublished);
  const others = all.filter((line) => !isPublished(line));
  const scale = layout === 'line per test' && ratioScale(rows.map(({ ratio }) => ratio));
  const head = ({ subject, version }: SubjectOutcome, columns: number) =>
    html`<th colspan="${columns}" scope="colgroup">${subject.name}${version && html` <span class="version">${version}</span>`}</th>`;
  const columns = 1 + 2 * published.length + others.length + (scale ? 1 : 0);

  return html`<div class="scroll"><table class="document tests">
<thead>
<tr><th rowspan="2" scope="col">${scale ? 'Test' : 'Figure'}</th>${published.map((line) => head(line, 2))}${others.map((line) => head(line, 1))}${scale && html`<th rowspan="2" scope="col">${againstPeer}: times better, 98&nbsp;% interval</th>`}</tr>
<tr>${published.map(() => html`<th scope="col">published</th><th scope="col">here</th>`)}${others.map(() => html`<th scope="col">here</th>`)}</tr>
</thead>
<tbody>
${rows.map(
  (
    row,
    index,
  ) => html`${row.row.heading !== rows[index - 1]?.row.heading && html`<tr class="heading"><th colspan="${columns}" scope="rowgroup">${row.row.heading}, ${row.row.unit}</th></tr>`}<tr>
<th scope="row">${columnOf(row)}${row.row.heading === undefined && html` <span class="unit">${row.row.unit}</span>`}</th>
${published.map((line) => [publishedCell(row.row.published?.[line.subject.name], `${line.subject.name}, published`), hereCell(row, line)])}
${others.map((line) => hereCell(row, line))}
${scale && ratioCell(row, againstPeer, scale)}
</tr>`,
)}
</tbody>
</table></div>
${notesOf(all, (line) => (scale ? (line.subject.note ?? '') : noteOf(line)))}`;
}

function hereCell(row: RowOutcome, { subject }: SubjectOutcome): Markup {
  const found = row.subjects.find((candidate) => candidate.subject.name === subject.name);
  const failed = found && !found.ok && !found.unavailable;
  return html`<td class="here" data-label="${subject.name}, here">${failed ? html`<span class="absent">failed: ${found.note}</span>` : found?.value ? describeNumber(found.value.median) : '–'}</td>`;
}
