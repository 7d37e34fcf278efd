/** The page's first screen: a card per table, with its sentence and the chart of its headline row. */
import type { TableOutcome } from '../harness/outcome.js';
import { headlineChart } from './headline-chart.js';
import { html, Markup } from './html.js';
import { headlineRow, sentencePartsOf } from './sentence.js';
import { verdictClass } from './verdict.js';

export function overview(outcomes: readonly TableOutcome[]): Markup {
  // Four cards fill two rows of two; more need three columns to fit on a screen.
  const columns = outcomes.length > 4 ? 'three' : 'two';
  return html`<ul class="overview ${columns}">
${outcomes.map((outcome) => {
  const { table, title } = outcome.table;
  const row = headlineRow(outcome);
  const chart = row ? headlineChart(row, 340) : '';
  return html`<li>
<div>
<h2><a href="#${table}">${title}</a></h2>
<p>${sentence(outcome, 'short')}</p>
</div>
${chart !== '' && html`<figure>${new Markup(chart)}</figure>`}
</li>`;
})}
</ul>
<p class="legend"><span class="ours">ours</span><span class="peer">peers</span><span class="floor">floor: work that no subject can avoid</span> The line on a bar is the 95&nbsp;% interval. <a href="#method">How to read this</a></p>
`;
}

/** The first screen omits the doubt; the table's section shows it. */
export function sentence(outcome: TableOutcome, length: 'short' | 'whole'): Markup {
  const { before, figure, after, interval, doubt } = sentencePartsOf(outcome);
  const aside = [interval, length === 'whole' ? doubt : ''].filter(Boolean).join('; ');
  const verdict = outcome.headline?.verdict ?? 'unknown';
  return html`${before}${figure && html`<em class="${verdictClass(verdict)}">${figure}</em>`}${after}${aside ? html` <small>(${aside}).</small>` : '.'}`;
}
