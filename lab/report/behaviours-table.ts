/** The behaviours of the subjects in words: a line per subject, a column per situation. */
import type { BehavioursOutcome } from '../harness/outcome.js';
import { html, type Markup } from './html.js';

export function behavioursTable({ behaviours, subjects }: BehavioursOutcome): Markup {
  const { about, columns } = behaviours;
  return html`<p class="source">${about}</p>
<div class="scroll"><table class="matrix behaviours">
<thead>
<tr><th scope="col">Library</th>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr>
</thead>
<tbody>
${subjects.map(
  ({ subject, version, found, note }) => html`<tr class="${subject.role}">
<th scope="row">${subject.name}${version && html` <span class="version">${version}</span>`}</th>
${columns.map((column) => {
  const { words, sound } = found[column] ?? { words: note, sound: false };
  return html`<td class="${sound ? 'note' : 'note absent'}" data-label="${column}">${words}</td>`;
})}
</tr>`,
)}
</tbody>
</table></div>`;
}
