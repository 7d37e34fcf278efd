/**
 * The page's first screen: a card for each table whose headline is certain, with its sentence and the chart of its
 * first row; then, folded, the headlines that are not certain, each with the reason and the command that measures more.
 */
import type { TableOutcome } from '../harness/outcome.js';
import { repeatCommand } from '../harness/repeat.js';
import { counted } from './format.js';
import { headlineChart } from './headline-chart.js';
import { html, Markup } from './html.js';
import { headlineRow, type Sentence, sentencePartsOf } from './sentence.js';
import { verdictClass } from './verdict.js';

export function isCertain({ headline }: TableOutcome): boolean {
  return headline !== undefined && headline.verdict !== 'unknown';
}

export function overview(outcomes: readonly TableOutcome[]): Markup {
  const certain = outcomes.filter(isCertain);
  const others = outcomes.filter((outcome) => !isCertain(outcome));
  // Four cards fill two rows of two; more need three columns to fit on a screen.
  const columns = certain.length > 4 ? 'three' : 'two';
  return html`${
    certain.length > 0 &&
    html`<ul class="overview ${columns}">
${certain.map(card)}
</ul>
<p class="legend"><span class="ours">ours</span><span class="peer">peers</span><span class="floor">floor: work that no subject can avoid</span> The line on a bar reaches from the lowest to the highest round.</p>
<p class="rule">Faster or slower is said only if the 98&nbsp;% interval of the ratio excludes 1 and the ratio is further from 1 than our code from itself in the same rounds. No difference is said only if the whole interval is within 10&nbsp;% of 1. <a href="#method">How to read this</a></p>`
  }
${
  others.length > 0 &&
  html`<details class="fold uncertain"><summary>Not certain: ${counted(others.length, 'headline')}</summary><ul>
${others.map((outcome) => html`<li><a href="#${outcome.table.table}">${outcome.table.title}</a>: ${sentence(sentencePartsOf(outcome), 'whole')} <code>${settlingCommand(outcome)}</code></li>`)}
</ul></details>`
}`;
}

function card(outcome: TableOutcome): Markup {
  const { table, title } = outcome.table;
  const row = headlineRow(outcome);
  const chart = row ? headlineChart(row, 340) : '';
  const rows = outcome.headline?.rows.length ?? 0;
  return html`<li>
<div>
<h2><a href="#${table}">${title}</a></h2>
<p>${sentence(sentencePartsOf(outcome), 'short', outcome)}</p>
</div>
${chart !== '' && html`<figure>${rows > 1 && html`<figcaption>One of ${rows} rows: ${row?.row.row}</figcaption>`}${new Markup(chart)}</figure>`}
</li>`;
}

/** Measures twice as many rounds as now. */
export function settlingCommand({ table, headline }: TableOutcome): string {
  const cells = new Set((headline?.rows ?? []).map(({ cell }) => cell.id));
  const [only] = cells;
  return repeatCommand({
    TABLE: table.table,
    ROW: cells.size === 1 ? only : undefined,
    ROUNDS: headline && 2 * headline.rounds,
  });
}

/** The first screen omits the doubt, which the table's section shows. */
export function sentence(
  { before, figure, after, interval, doubt }: Sentence,
  length: 'short' | 'whole',
  outcome?: TableOutcome,
): Markup {
  const aside = [interval, length === 'whole' ? doubt : ''].filter(Boolean).join('; ');
  const verdict = outcome?.headline?.verdict ?? 'unknown';
  return html`${before}${figure && html`<em class="${verdictClass(verdict)}">${figure}</em>`}${after}${aside ? html` <small>(${aside}).</small>` : '.'}`;
}
