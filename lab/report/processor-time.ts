/** The processor time of one task or call, below its figure. */
import type { SubjectOutcome } from '../harness/outcome.js';
import { describeProcessorTime } from './format.js';
import { html, type Markup } from './html.js';

export function processorTime({ processorTime: microseconds }: SubjectOutcome): Markup {
  if (microseconds === null) return html``;
  return html`<span class="processor-time" title="processor time of one task or call">${describeProcessorTime(microseconds)}</span>`;
}
