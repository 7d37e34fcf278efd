/**
 * Writes the report: one page with every table that has been measured, a picture per table, and one of
 * them all.
 *
 * Invariant: built from the tables and the journals alone; complete in itself, readable without
 * script, without network and on paper.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { foreignLimit } from '../harness/load.js';
import type { TableOutcome } from '../harness/outcome.js';
import { type Places, picturePath, reportPath } from '../harness/places.js';
import { repeatCommand } from '../harness/repeat.js';
import { behavioursTable } from './behaviours-table.js';
import { cellSection } from './cell-section.js';
import { describeTally, describeUnmeasured } from './console.js';
import { documentRows, documentTable } from './document-table.js';
import { describeNumber, describeShare } from './format.js';
import { html, Markup } from './html.js';
import { machineSection } from './machine-section.js';
import { matrices } from './matrix.js';
import { overview, sentence } from './overview.js';
import { drawOverview } from './overview-picture.js';
import { drawPicture } from './picture.js';
import { rowsTable } from './rows-table.js';
import { pageStyle } from './style.js';

export function writeReport(places: Places, outcomes: readonly TableOutcome[]): void {
  mkdirSync(dirname(reportPath(places)), { recursive: true });
  writeFileSync(reportPath(places), page(outcomes).toString());
  writeFileSync(picturePath(places, 'overview'), drawOverview(outcomes));
  for (const outcome of outcomes) {
    const picture = drawPicture(outcome);
    if (picture) writeFileSync(picturePath(places, outcome.table.table), picture);
  }
}

function page(outcomes: readonly TableOutcome[]): Markup {
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
${outcomes.map(tableSection)}
${method()}
</main>
</body>
</html>
`;
}

function tableSection(outcome: TableOutcome): Markup {
  const { table, rows, rounds, journal, date, foreignShare } = outcome;
  const { machine } = journal.header;
  const others = rows.filter(
    (row) => !documentRows(outcome).includes(row) && row.row.matrix === undefined,
  );
  const missing = describeUnmeasured(outcome);
  return html`<article id="${table.table}">
<p class="eyebrow">${table.title}</p>
<h2>${sentence(outcome)}</h2>
<p class="byline">${describeTally(outcome)}<br>${missing && html`${missing}<br>`}${machine.cpu}, ${machine.cores} cores · Node ${machine.node} · foreign load ${foreignShare === null ? 'not measured' : describeShare(foreignShare)} · wake-up ${describeNumber(journal.header.wakeUpMicroseconds)} µs · <time datetime="${date}">${date.slice(0, 10)}</time></p>
<h3>The published table, run again</h3>
<p class="source">From <a href="${table.document.source}">${table.document.title}</a>. Published figures are another machine's; compare them with each other, not with those from here.</p>
${documentTable(outcome)}
${others.length > 0 && html`<h3>All other rows</h3>${rowsTable(table.table, others)}`}
${matrices(rows)}
${outcome.behaviours.map(behavioursTable)}
<h3>Row by row</h3>
${table.cells.map((cell) =>
  cellSection(
    outcome,
    rows.filter(({ row, cell: own }) => own === cell && row.matrix === undefined && !row.aside),
  ),
)}
<h3>Machine</h3>
${machineSection(outcome)}
<h3>Data</h3>
<p>Results: <a href="../${table.table}.json">${table.table}.json</a>. Every sample: <a href="../${table.table}.jsonl">${table.table}.jsonl</a>. The whole table again: <code>${repeatCommand({ TABLE: table.table, ROUNDS: rounds })}</code></p>
</article>`;
}

function method(): Markup {
  return html`<section class="method" id="method">
<h2>How to read this</h2>
<p>Each subject does each piece of work in a process of its own. A round measures all subjects of a row back to back in random order; the ratio is taken inside the round, so that a machine that speeds up or slows down does so for both. Figures are medians over rounds; intervals are 95 % bootstrap intervals over rounds.</p>
<p>Ours runs twice in every round. How far it seems to differ from itself is the row's noise. A row is called faster or slower only when the interval of the ratio excludes 1 and the ratio exceeds that noise; otherwise it has no colour.</p>
<p>The floor is work that no subject can avoid, done with nothing around it. A subject that gave one wrong answer has failed the row, however fast it was. One that did the work but lost the caller's async context, or did it at another priority, is shown with its figures and its note, and is never the best peer.</p>
<p>The ratio is the median of the ratios of all rounds, and so need not be the ratio of the two medians beside it. The worst round is the lowest of them.</p>
<p>Where it says so, idle cores could sleep (quiet), or other processes kept one core or all of them busy. The small figure in µs is the processor time that one call or task took of all threads.</p>
<p>Foreign load is the share of processor time that went to other processes and to the hypervisor. A round with more than ${describeShare(foreignLimit)} is measured again, and the calmest attempt is kept.</p>
</section>`;
}
