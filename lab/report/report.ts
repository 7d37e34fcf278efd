/**
 * Writes the report: one page with every table that has been measured, and a picture per table.
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
import { describeTally } from './console.js';
import { documentRows, documentTable } from './document-table.js';
import { describeNumber, describeShare } from './format.js';
import { html, Markup } from './html.js';
import { machineSection } from './machine-section.js';
import { matrices } from './matrix.js';
import { drawPicture } from './picture.js';
import { rowsTable } from './rows-table.js';
import { sentencePartsOf } from './sentence.js';
import { pageStyle } from './style.js';

export function writeReport(places: Places, outcomes: readonly TableOutcome[]): void {
  mkdirSync(dirname(reportPath(places)), { recursive: true });
  writeFileSync(reportPath(places), page(outcomes).toString());
  for (const outcome of outcomes) {
    writeFileSync(picturePath(places, outcome.table.table), drawPicture(outcome));
  }
}

function page(outcomes: readonly TableOutcome[]): Markup {
  const navigation =
    outcomes.length > 1 &&
    html`<nav>${outcomes.map(({ table }) => html`<a href="#${table.table}">${table.title}</a>`)}</nav>`;
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
<header class="masthead"><span>Pointsman</span> lab${navigation}</header>
<main>
${outcomes.map(tableSection)}
${method()}
</main>
</body>
</html>
`;
}

function tableSection(outcome: TableOutcome): Markup {
  const { table, rows, rounds, journal, date, foreignShare } = outcome;
  const { before, figure, after, interval } = sentencePartsOf(outcome);
  const { machine } = journal.header;
  const others = rows.filter(
    (row) => !documentRows(outcome).includes(row) && row.row.matrix === undefined,
  );
  return html`<article id="${table.table}">
<p class="eyebrow">${table.title}</p>
<h1>${before}<em>${figure}</em>${after}${interval ? html` <small>(${interval}).</small>` : '.'}</h1>
<p class="byline">${describeTally(outcome)}<br>${machine.cpu}, ${machine.cores} cores · Node ${machine.node} · foreign load ${foreignShare === null ? 'not measured' : describeShare(foreignShare)} · wake-up ${describeNumber(journal.header.wakeUpMicroseconds)} µs · <time datetime="${date}">${date.slice(0, 10)}</time></p>
<h2>The published table, run again</h2>
<p class="source">From <a href="${table.document.source}">${table.document.title}</a>. Published figures are another machine's; compare them with each other, not with those from here.</p>
${documentTable(outcome)}
${others.length > 0 && html`<h2>All other rows</h2>${rowsTable(table.table, others)}`}
${matrices(rows)}
${outcome.behaviours.map(behavioursTable)}
<h2>Row by row</h2>
${table.cells.map((cell) =>
  cellSection(
    outcome,
    rows.filter(({ row, cell: own }) => own === cell && row.matrix === undefined && !row.aside),
  ),
)}
<h2>Machine</h2>
${machineSection(outcome)}
<h2>Data</h2>
<p>Results: <a href="../${table.table}.json">${table.table}.json</a>. Every sample: <a href="../${table.table}.jsonl">${table.table}.jsonl</a>. The whole table again: <code>${repeatCommand({ TABLE: table.table, ROUNDS: rounds })}</code></p>
</article>`;
}

function method(): Markup {
  return html`<section class="method">
<h2>How to read this</h2>
<p>Each subject does each piece of work in a process of its own. A round measures all subjects of a row back to back in random order; the ratio is taken inside the round, so that a machine that speeds up or slows down does so for both. Figures are medians over rounds; intervals are 95 % bootstrap intervals over rounds.</p>
<p>Ours runs twice in every round. How far it seems to differ from itself is the row's noise. A row is called faster or slower only when the interval of the ratio excludes 1 and the ratio exceeds that noise; otherwise it has no colour.</p>
<p>The floor is work that no subject can avoid, done with nothing around it. A subject that gave one wrong answer has failed the row, however fast it was. One that did the work but lost the caller's async context is shown with its figures and its note, and is never the best peer: it did less.</p>
<p>The ratio is the median of the ratios of all rounds, and so need not be the ratio of the two medians beside it.</p>
<p>Foreign load is the share of processor time that went to other processes and to the hypervisor. A round with more than ${describeShare(foreignLimit)} is measured again, and the calmest attempt is kept.</p>
</section>`;
}
