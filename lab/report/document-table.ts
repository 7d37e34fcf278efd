/**
 * The published table, repeated: the document's lines and columns, with each published figure beside the one from here.
 *
 * If the document published the best of several runs, this table shows the best of as many first rounds, by the first
 * column. The interleaved median of all rounds is beside it, and the ratio is taken from that. A document with one run per
 * test has a table per test: `document-tests.ts`. A document with a line per figure or test: `document-lines.ts`.
 */
import { max, median, min } from 'simple-statistics';
import {
  noteOf,
  type RowOutcome,
  type SubjectOutcome,
  type TableOutcome,
} from '../harness/outcome.js';
import { columnOf, nameCell, notesOf, publishedCell } from './document-cells.js';
import { documentLines } from './document-lines.js';
import { documentTests } from './document-tests.js';
import {
  counted,
  describeNumber,
  describeRatio,
  describeRatioInterval,
  describeShare,
} from './format.js';
import { html, type Markup } from './html.js';
import { intervalMark, ratioScale } from './interval-mark.js';
import { verdictClass } from './verdict.js';

export function documentRows({ rows }: TableOutcome): readonly RowOutcome[] {
  return rows.filter(({ row }) => row.column !== undefined);
}

export function documentTable(outcome: TableOutcome): Markup {
  const rows = documentRows(outcome);
  const [first] = rows;
  if (!first) return html``;
  const { document } = outcome.table;
  if (document?.layout !== undefined) return documentLines(rows, document.layout);
  const bestOf = document?.bestOf;
  if (bestOf === undefined) return documentTests(rows);
  const here = `best of ${Math.min(bestOf, first.rounds)} here`;
  const oursName = first.ours?.subject.name ?? 'ours';
  const peers = first.subjects.filter(({ subject }) => subject.role === 'peer');
  const scale = ratioScale(peers.map(({ ratio }) => ratio));
  const order = ['ours', 'peer', 'floor'];
  const lines = [...first.subjects].sort(
    (a, b) => order.indexOf(a.subject.role) - order.indexOf(b.subject.role),
  );

  const line = (subject: SubjectOutcome) => {
    const name = subject.subject.name;
    if (!subject.ok) {
      const published = rows.map((row) => row.row.published?.[name]);
      return html`<tr class="failed">
${nameCell(subject)}
${published.map((value, index) => html`${publishedCell(value, `${columnOf(rows[index])}, published`)}<td class="absent">failed</td>`)}
<td class="absent" colspan="2">see the notes</td>
</tr>`;
    }
    const best = bestRound(first, name, bestOf);
    return html`<tr class="${subject.subject.role}">
${nameCell(subject)}
${rows.map((row) => {
  const published = row.row.published?.[name];
  const again = row.subjects.find((other) => other.subject.name === name);
  const value = best === undefined ? again?.value?.median : valueIn(again, best);
  return html`${publishedCell(published, `${columnOf(row)}, published`)}<td class="here" data-label="${columnOf(row)}, ${here}">${value === undefined ? '–' : describeNumber(value)}</td>`;
})}
<td class="here" data-label="${columnOf(first)}, median">${subject.value && describeNumber(subject.value.median)}</td>
${subject.subject.role === 'floor' ? floorCell(subject) : ratioCell(subject)}
</tr>`;
  };
  const ratioCell = ({ ratio, verdict }: SubjectOutcome) =>
    html`<td class="ratio ${verdictClass(verdict)}" data-label="${oursName} against it">${
      ratio &&
      html`<strong>${describeRatio(ratio.median)}</strong> <span class="range">${describeRatioInterval(ratio)}</span> ${intervalMark(ratio, first.noise, verdict, scale)}`
    }</td>`;
  const floorCell = ({ ratio }: SubjectOutcome) =>
    html`<td class="ratio" data-label="${oursName} against it">${
      ratio && html`${describeShare(ratio.median)} <span class="range">of this floor</span>`
    }</td>`;

  return html`<div class="scroll"><table class="document">
<thead>
<tr><th rowspan="2" scope="col">Library</th>${rows.map((row) => html`<th colspan="2" scope="colgroup">${columnOf(row)}</th>`)}<th colspan="2" scope="colgroup">${counted(first.rounds, 'interleaved round')}</th></tr>
<tr>${rows.map(() => html`<th scope="col">published</th><th scope="col">${here}</th>`)}<th scope="col">${columnOf(first)}, median</th><th scope="col">${oursName} against it: times better, 98&nbsp;% interval</th></tr>
</thead>
<tbody>
${lines.map(line)}
</tbody>
</table></div>
${notes(lines)}`;
}

/** A note that all subjects share is shown once; then how each subject is used. */
function notes(lines: readonly SubjectOutcome[]): Markup {
  const said = new Set(lines.filter(({ ok }) => ok).map(({ note }) => note));
  const shared = said.size === 1 ? [...said].join() : '';
  return notesOf(
    lines,
    (line) => (shared === '' ? noteOf(line) : (line.subject.note ?? '')),
    shared,
  );
}

/** Returns the best of the first rounds by the first column. */
function bestRound(first: RowOutcome, name: string, runs: number): number | undefined {
  const subject = first.subjects.find((candidate) => candidate.subject.name === name);
  const rounds = [...(subject?.samples.keys() ?? [])].sort((a, b) => a - b).slice(0, runs);
  const values = rounds.map((round) => valueIn(subject, round) ?? Number.NaN);
  if (values.length === 0) return undefined;
  const best = first.row.better === 'higher' ? max(values) : min(values);
  return rounds[values.indexOf(best)];
}

function valueIn(subject: SubjectOutcome | undefined, round: number): number | undefined {
  const samples = subject?.samples.get(round);
  return samples && median([...samples]);
}
