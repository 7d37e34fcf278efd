/** What the tables of the published document have in common. */
import type { RowOutcome, SubjectOutcome } from '../harness/outcome.js';
import { html, type Markup } from './html.js';

export function nameCell({ subject, version }: SubjectOutcome): Markup {
  return html`<th scope="row">${subject.name}${version && html` <span class="version">${version}</span>`}</th>`;
}

export function columnOf(row: RowOutcome | undefined): string {
  return row?.row.column ?? row?.row.row ?? '';
}
