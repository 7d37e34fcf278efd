/** The common cells of the tables of a published document. */
import { noteOf, type RowOutcome, type SubjectOutcome } from '../harness/outcome.js';
import { describePublished } from './format.js';
import { html, type Markup } from './html.js';

export function nameCell({ subject, version }: SubjectOutcome): Markup {
  return html`<th scope="row">${subject.name}${version && html` <span class="version">${version}</span>`}</th>`;
}

export function columnOf(row: RowOutcome | undefined): string {
  return row?.row.column ?? row?.row.row ?? '';
}

/** On a narrow screen, a cell without a published figure is hidden. */
export function publishedCell(value: number | undefined, label: string): Markup {
  const [words, nothing] = value === undefined ? ['–', ' nothing'] : [describePublished(value), ''];
  return html`<td class="published${nothing}" data-label="${label}">${words}</td>`;
}

/** Folded notes: first the failures, then notes on the other subjects. */
export function notesOf(
  lines: readonly SubjectOutcome[],
  describe: (line: SubjectOutcome) => string,
  ofAll = '',
): Markup {
  const item = (name: string, words: string) => html`<li><span>${name}</span> ${words}</li>`;
  const failures = lines
    .filter(({ ok }) => !ok)
    .map((line) => {
      const how = line.unavailable ? noteOf(line) : `failed: ${noteOf(line)}`;
      return item(line.subject.name, how);
    });
  const notes = lines
    .filter((line) => line.ok && describe(line) !== '')
    .map((line) => item(line.subject.name, describe(line)));
  const all = [...(ofAll === '' ? [] : [item('All', ofAll)]), ...failures, ...notes];
  if (all.length === 0) return html``;
  return html`<details><summary>Notes</summary><ul class="notes">${all}</ul></details>`;
}
