/**
 * Writes the report: one page with all measured tables, a chart per table, one of all tables, and the page of the
 * documentation that states the results.
 *
 * Invariant: built only from the tables and the journals. The page is self-contained and readable without scripts,
 * without a network, and in print.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RowOutcome, TableOutcome } from '../harness/outcome.js';
import { type Places, picturePath, reportPath } from '../harness/places.js';
import { repeatCommand } from '../harness/repeat.js';
import { levelWithin } from '../harness/statistics.js';
import { behavioursTable } from './behaviours-table.js';
import { cellSection } from './cell-section.js';
import { describeTally, describeUnmeasured } from './console.js';
import { documentRows, documentTable } from './document-table.js';
import { describeExcess, describeNumber, describeShare } from './format.js';
import { headlineChart } from './headline-chart.js';
import { html, Markup } from './html.js';
import { machineSection } from './machine-section.js';
import { matrices } from './matrix.js';
import { overview, sentence } from './overview.js';
import { drawOverview } from './overview-picture.js';
import { drawPicture } from './picture.js';
import { resultsPage } from './results-page.js';
import { rowsTable } from './rows-table.js';
import { besideOf, headlineRow, sentencePartsOf } from './sentence.js';
import { pageStyle } from './style.js';

export function writeReport(
  places: Places,
  outcomes: readonly TableOutcome[],
  /** Tables without results. */
  unmeasured: readonly string[],
): void {
  mkdirSync(dirname(reportPath(places)), { recursive: true });
  writeFileSync(reportPath(places), page(outcomes, unmeasured).toString());
  writeFileSync(picturePath(places, 'overview'), drawOverview(outcomes, 'wide'));
  writeFileSync(picturePath(places, 'overview-narrow'), drawOverview(outcomes, 'narrow'));
  writeFileSync(join(dirname(reportPath(places)), 'results.md'), resultsPage(outcomes));
  for (const outcome of outcomes) {
    const picture = drawPicture(outcome);
    if (picture) writeFileSync(picturePath(places, outcome.table.table), picture);
  }
}

function page(outcomes: readonly TableOutcome[], unmeasured: readonly string[]): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Pointsman lab: ${outcomes.map(({ table }) => table.title).join(', ')}</title>
<style>${new Markup(pageStyle)}</style>
</head>
<body>
<header class="masthead"><h1>Pointsman <span>lab</span></h1></header>
<main>
${overview(outcomes)}
${unmeasured.length > 0 && html`<p class="missing">Not measured yet: ${unmeasured.join(', ')}. <code>${repeatCommand({})}</code></p>`}
${outcomes.map(tableSection)}
${method()}
</main>
</body>
</html>
`;
}

/** The open part fits on a screen: the sentence, its row and the published table. The rest is folded. */
function tableSection(outcome: TableOutcome): Markup {
  const { table, rows, journal, date, foreignShare } = outcome;
  const { machine } = journal.header;
  const others = rows.filter(
    (row) => !documentRows(outcome).includes(row) && row.row.matrix === undefined,
  );
  const missing = describeUnmeasured(outcome);
  return html`<article id="${table.table}">
<p class="eyebrow">${table.title}</p>
<h2>${sentence(sentencePartsOf(outcome), 'whole', outcome)}</h2>
${besideOf(outcome).map((beside) => html`<p class="beside">${sentence(beside, 'whole')}</p>`)}
<p class="byline">${describeTally(outcome)}<br>${machine.cpu}, ${machine.cores} cores · Node ${machine.node} · foreign load ${foreignShare === null ? 'not measured' : describeShare(foreignShare)} · wake-up ${describeNumber(journal.header.wakeUpMicroseconds)} µs · <time datetime="${date}">${date.slice(0, 10)}</time></p>
${missing && html`<p class="missing">${missing.words}: <code>${missing.command}</code></p>`}
${documentSection(outcome)}
${others.length > 0 && fold(`All rows, one per line: ${others.length}`, rowsTable(table.table, others))}
${matrices(rows).map(({ title, table }) => fold(title, table))}
${outcome.behaviours.map((found) => fold(found.behaviours.title, behavioursTable(found)))}
${fold(
  'Row by row: all samples, all figures, and the command that repeats each',
  html`${table.cells.map((cell) =>
    cellSection(
      outcome,
      rows.filter(({ row, cell: own }) => own === cell && row.matrix === undefined && !row.aside),
    ),
  )}`,
)}
${fold('Machine and versions', machineSection(outcome))}
<p class="data">Results: <a href="../${table.table}.json">${table.table}.json</a>. Every sample: <a href="../${table.table}.jsonl">${table.table}.jsonl</a>. Repeat the whole table: <code>${repeatCommand({ TABLE: table.table })}</code></p>
</article>`;
}

const mostOpenLines = 20;

/** Shows the headline's chart if the published table lacks its row or is folded. */
function documentSection(outcome: TableOutcome): Markup {
  const published = documentRows(outcome);
  const row = headlineRow(outcome);
  const { document } = outcome.table;
  if (document === undefined) return html`${row && headlineFigure(row)}`;
  const isLong = document.layout === 'line per test' && published.length > mostOpenLines;
  const isPictured = row !== undefined && (isLong || !published.includes(row));
  const title = 'The published table, repeated here';
  const body = html`<p class="source">From <a href="${document.source}">${document.title}</a>. Published figures are from another machine: compare them with each other, not with those from here.</p>
${documentTable(outcome)}`;
  return html`${isPictured && headlineFigure(row)}
${published.length === 0 ? '' : isLong ? fold(`${title}: ${published.length} tests`, body) : html`<h3>${title}</h3>${body}`}`;
}

function headlineFigure(outcome: RowOutcome): Markup {
  return html`<figure class="headline">
<figcaption>${outcome.row.row}</figcaption>
<div class="wide">${new Markup(headlineChart(outcome, 848))}</div>
<div class="narrow">${new Markup(headlineChart(outcome, 340))}</div>
</figure>`;
}

function fold(title: string, content: Markup): Markup {
  return html`<details class="fold"><summary>${title}</summary>
${content}
</details>`;
}

function method(): Markup {
  // A link to an element inside opens the fold.
  return html`<details class="fold method"><summary>How to read this</summary>
<div id="method">
<p>Each subject does each piece of work in a process of its own. In a round all these processes are alive and take turns: each runs a short slice of its work, in random order. The ratio is taken inside a turn, so that a machine that speeds up or slows down does so for both. Figures are medians over rounds; the interval of a ratio is Student’s 98 % interval over rounds.</p>
<p>Ours runs twice in every round. The difference that it shows from itself is the row's noise. A row is called faster or slower only where the whole interval of the ratio lies beyond 1 and the ratio itself beyond that noise. It shows no difference only where the whole interval lies within ${describeExcess(levelWithin)} of 1. All else is not certain, and has no colour: measure it with more rounds, or on a less busy machine.</p>
<p>The floor is the work that no subject can avoid, without any overhead. A subject that gave one wrong answer has failed the row. A subject that lost the caller's async context, broke another promise or ran at another priority is shown with its figures and a note, and is never the best peer.</p>
<p>The ratio is the geometric mean of the ratios of all rounds, and so need not be the ratio of the two medians beside it. The worst round is the lowest of them.</p>
<p>Where it says so, idle cores could sleep (quiet), or other processes kept one core or all of them busy. The small figure in µs is the processor time that one call or task took of all threads.</p>
<p>Foreign load is the share of processor time that went to other processes and to the hypervisor.</p>
</div>
</details>`;
}
