/**
 * The page `docs/results.md`: the sentence of each table's headline, certain or not, with the conditions of the run.
 *
 * Invariant: it is built from the outcomes alone, and names no commit and no path. `make picture` copies it together
 * with the pictures, so the page and the pictures agree.
 */
import type { RowOutcome, TableOutcome } from '../harness/outcome.js';
import { confidence } from '../harness/statistics.js';
import { counted, describeRatio, describeRatioInterval } from './format.js';
import { isCertain, settlingCommand } from './overview.js';
import { headlineRow, sentenceOf, sentencePartsOf } from './sentence.js';

export function resultsPage(outcomes: readonly TableOutcome[]): string {
  const certain = outcomes.filter(isCertain);
  const others = outcomes.filter((outcome) => !isCertain(outcome));
  return `${[
    introduction,
    certain.length > 0 && `${certainText}\n\n${table(certainColumns, certain.map(certainLine))}`,
    others.length > 0 && `${otherText}\n\n${table(otherColumns, others.map(otherLine))}`,
    `## Conditions\n\n${[...machinesOf(outcomes), ...outcomes.map(conditionsOf)].join('\n')}`,
  ]
    .filter(Boolean)
    .join('\n\n')}\n`;
}

const introduction = `# Results of the lab

\`make picture\` wrote this page after a run of the lab, which measures Pointsman against its peers. Each table of the lab states one result, also where a peer is faster. To measure on your machine:

\`\`\`sh
make lab    # the headline of each table: 7 to 15 minutes on 2 cores, after the builds
\`\`\`

It builds the page \`lab/out/report/index.html\` with all figures. [How the lab measures](../lab/README.md) explains the method and lists the commands for more rows and rounds.

<picture>
  <source media="(max-width: 600px)" srcset="./pictures/results-narrow.svg">
  <img src="./pictures/results.svg" width="760" alt="For each table of the lab with a certain result, how many times faster Pointsman is than the fastest peer, with the ${confidence} % interval, on a logarithmic axis with a line at 1.">
</picture>`;

const certainText = `## Certain results

Faster or slower is said only if the ${confidence} % interval of the ratio excludes 1 and the ratio is further from 1 than two runs of our own code are from each other. No difference is said only if the whole interval is within 10 % of 1. A ratio above 1 means that Pointsman is faster.`;
const certainColumns = ['result', `ratio to the fastest peer (${confidence} % interval)`];

const otherText = `## Results that are not certain

These headlines have no verdict. The command measures more rounds.`;
const otherColumns = ['what is known', 'command'];

function certainLine(outcome: TableOutcome): string[] {
  const { before, figure, after } = sentencePartsOf(outcome);
  const ratio = outcome.headline?.ratio;
  return [
    `${linkTo(outcome)}: ${text(before)}**${text(figure)}**${text(after)}.`,
    ratio ? `${describeRatio(ratio.median)} (${describeRatioInterval(ratio)})` : '',
  ];
}

function otherLine(outcome: TableOutcome): string[] {
  return [
    `${linkTo(outcome)}: ${text(sentenceOf(outcome))}`,
    `\`${settlingCommand(outcome).replaceAll('|', '\\|')}\``,
  ];
}

/** One line for each machine; they differ if results are from several runs. */
function machinesOf(outcomes: readonly TableOutcome[]): string[] {
  const machines = outcomes.map(({ journal: { header } }) => {
    const { cores, cpu, memory_gibibytes, system, node } = header.machine;
    return `- Machine: ${text(`${cores} × ${cpu}, ${memory_gibibytes} GiB, ${system}, Node ${node}`)}.`;
  });
  return [...new Set(machines)];
}

function conditionsOf(outcome: TableOutcome): string {
  const rows = outcome.headline?.rows ?? [];
  const time = rows.every(({ row }) => row.judgedByProcessorTime) ? 'processor' : 'elapsed';
  const peers = peersOf(headlineRow(outcome));
  const against = peers.length === 0 ? '' : `, against ${text(peers.join(', '))}`;
  const rounds = counted(outcome.headline?.rounds ?? 0, 'round');
  return `- ${linkTo(outcome)}: ${rounds} until ${outcome.date.slice(0, 10)}, by ${time} time${against}.`;
}

/** The peers with a figure, with their versions. */
function peersOf(row: RowOutcome | undefined): string[] {
  return (row?.subjects ?? [])
    .filter(({ ok, subject }) => ok && subject.role === 'peer')
    .map(({ subject, version }) =>
      version === null ? subject.name : `${subject.name} ${version}`,
    );
}

/** The section of the lab's method about the table. */
function linkTo({ table: { table, title } }: TableOutcome): string {
  return `[${text(title)}](../lab/README.md#the-table-${table})`;
}

/** Escapes what Markdown would read as markup inside a table. */
function text(plain: string): string {
  return plain
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replace(/[|*_\\[\]]/g, '\\$&');
}

function table(columns: readonly string[], lines: readonly (readonly string[])[]): string {
  const rule = columns.map(() => '---');
  return [columns, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
