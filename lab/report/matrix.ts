/**
 * Many related rows in one table: a line per subject, a column per row, and below them the ratio to the best peer. With
 * many rows it is transposed: a line per row, a column per subject. The results file has the full figures.
 *
 * Invariant: a figure is coloured only if the row's verdict on that subject is significant.
 */
import type { RowOutcome, SubjectOutcome } from '../harness/outcome.js';
import { counted, describeRatio } from './format.js';
import { html, type Markup } from './html.js';
import { ratioScale } from './interval-mark.js';
import { processorTime } from './processor-time.js';
import { ratioCell } from './ratio-cell.js';
import { verdictClass } from './verdict.js';

/** A matrix with more rows is transposed. */
const mostColumns = 16;
const mostColumnsPerLine = 4;
const threeDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

export interface Matrix {
  readonly title: string;
  readonly table: Markup;
}

export function matrices(outcomes: readonly RowOutcome[]): readonly Matrix[] {
  const titles = new Set(outcomes.flatMap(({ row }) => row.matrix?.title ?? []));
  return [...titles].map((title) => ({
    title,
    table: matrix(outcomes.filter(({ row }) => row.matrix?.title === title)),
  }));
}

function matrix(rows: readonly RowOutcome[]): Markup {
  const blocks = [...new Set(rows.map(({ row }) => row.matrix?.block ?? ''))].map((block) =>
    rows.filter(({ row }) => row.matrix?.block === block),
  );
  const lines = new Map(
    rows.flatMap(({ subjects }) => subjects).map((found) => [found.subject.name, found]),
  );
  const ours = rows[0]?.ours?.subject.name ?? 'ours';
  const subjects = [...lines.values()];
  const isTurned = rows.length > Math.min(mostColumns, mostColumnsPerLine * subjects.length);
  return html`<p class="source">Medians of ${counted(Math.min(...rows.map(({ rounds }) => rounds)), 'round')}. Coloured where ${ours} is <span class="faster">better</span> or <span class="slower">worse</span> beyond its noise.${rows.some(({ row }) => row.processorTime !== undefined) && ' With each figure the processor time of one task or call.'}</p>
${isTurned ? turned(blocks, subjects) : upright(blocks, subjects)}`;
}

function upright(
  blocks: readonly (readonly RowOutcome[])[],
  lines: readonly SubjectOutcome[],
): Markup {
  return html`<div class="scroll"><table class="matrix">
<thead>
<tr><th rowspan="2" scope="col">Library</th>${blocks.map((block) => html`<th colspan="${block.length}" scope="colgroup" class="block">${block[0]?.row.matrix?.block}; ${block[0]?.row.better} is better</th>`)}</tr>
<tr>${blocks.map((block) => block.map(({ row }, index) => html`<th scope="col"${index === 0 && html` class="block"`}>${row.matrix?.column}</th>`))}</tr>
</thead>
<tbody>
${lines.map(
  (line) => html`<tr class="${line.subject.role}">
<th scope="row">${line.subject.name}</th>
${blocks.map((block) => block.map((row, index) => figure(row, line, index === 0, labelOf(row))))}
</tr>`,
)}
${blocks.flat().some(({ ratio }) => ratio) && ratioLine(blocks)}
</tbody>
</table></div>`;
}

function ratioLine(blocks: readonly (readonly RowOutcome[])[]): Markup {
  const cell = (outcome: RowOutcome, isFirst: boolean) => {
    const { ratio, worstRatio, verdict } = outcome;
    return html`<td class="ratio ${isFirst ? 'block ' : ''}${verdictClass(verdict)}" data-label="${labelOf(outcome)}">${ratio && html`<strong>${describeRatio(ratio.median)}</strong>`}${worstRatio !== null && html`<span class="worst">${describeRatio(worstRatio)}</span>`}</td>`;
  };
  return html`<tr><th scope="row">times better; worst round</th>
${blocks.map((block) => block.map((outcome, index) => cell(outcome, index === 0)))}</tr>`;
}

function turned(
  blocks: readonly (readonly RowOutcome[])[],
  columns: readonly SubjectOutcome[],
): Markup {
  const scale = ratioScale(blocks.flat().map(({ ratio }) => ratio));
  return html`<div class="scroll"><table class="matrix turned">
<thead>
<tr><th scope="col"></th>${columns.map(({ subject }) => html`<th scope="col">${subject.name}</th>`)}<th scope="col">times better than the best peer, 98&nbsp;% interval</th></tr>
</thead>
<tbody>
${blocks.map(
  (
    block,
  ) => html`<tr class="heading"><th colspan="${columns.length + 2}" scope="rowgroup">${block[0]?.row.matrix?.block}; ${block[0]?.row.better} is better</th></tr>
${block.map(
  (row) => html`<tr>
<th scope="row">${row.row.matrix?.column}</th>
${columns.map((column) => figure(row, column, false, column.subject.name))}
${ratioCell(row, 'times better', scale)}
</tr>`,
)}`,
)}
</tbody>
</table></div>`;
}

function labelOf({ row }: RowOutcome): string {
  return `${row.matrix?.block}, ${row.matrix?.column}`;
}

function figure(
  { subjects }: RowOutcome,
  line: SubjectOutcome,
  isFirst: boolean,
  label: string,
): Markup {
  const found = subjects.find(({ subject }) => subject.name === line.subject.name);
  const classes = [isFirst ? 'block' : '', found ? verdictClass(found.verdict) : ''];
  return html`<td class="${classes.filter(Boolean).join(' ')}" data-label="${label}">${found?.value ? html`${threeDigits.format(found.value.median)}${processorTime(found)}` : '–'}</td>`;
}
