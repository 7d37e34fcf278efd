/**
 * The lab's command: measures tables one after the other, writes their results and the report.
 *
 * Invariant: whatever ends it (the last round, Ctrl-C, an error), the rounds that were done are
 * kept, no process is left behind, and the last lines say what there is or how to go on.
 */
import { once } from 'node:events';
import { relative } from 'node:path';
import { type CommandDef, defineCommand } from 'citty';
import { Listr } from 'listr2';
import {
  describeBehaviours,
  describeDocument,
  describeRow,
  describeTally,
  describeUnmeasured,
} from '../report/console.js';
import { counted, describeDuration } from '../report/format.js';
import { writeReport } from '../report/report.js';
import { sentenceOf } from '../report/sentence.js';
import { headerOf } from './header.js';
import { Journal, readJournal } from './journal.js';
import { describeMachine } from './machine.js';
import { type Options, optionArguments, parseOptions } from './options.js';
import { outcomeOf, type TableOutcome } from './outcome.js';
import { journalPath, type Places, reportPath, resultsPath, trialPath } from './places.js';
import { type Plan, planTable } from './plan.js';
import { repeatCommand } from './repeat.js';
import { resultsOf, writeResults } from './results.js';
import { Measuring } from './rounds.js';
import type { Table } from './table.js';
import { loadTable, tableNames } from './tables.js';
import { measureWakeUp } from './wake-up.js';

/** One table with all that is needed to measure it. */
interface Work {
  readonly table: Table;
  readonly plan: Plan;
  readonly journal: Journal;
  readonly measuring: Measuring;
}

/** The part of a listr task that is used here. */
interface Display {
  title: string;
  output: string;
  skip(message: string): void;
}

const interruptedExitCode = 130;

export function labCommand(places: Places): CommandDef<typeof optionArguments> {
  return defineCommand({
    meta: { name: 'lab', description: 'Measures ours and every peer side by side, here' },
    args: optionArguments,
    async run(context) {
      try {
        process.exitCode = await runLab(places, parseOptions(context));
      } catch (error) {
        console.error(error instanceof Error ? error.message : error);
        process.exitCode = 1;
      }
    },
  });
}

async function runLab(places: Places, options: Options): Promise<number> {
  const known = tableNames(places.tables);
  if (known.length === 0) throw new Error(`${places.tables}: expected at least one built table`);
  if (options.table === undefined && (options.row ?? options.subject) !== undefined) {
    throw new Error(`--row and --subject need --table: expected one of ${known.join(', ')}`);
  }
  const names = options.table === undefined ? known : [options.table];
  if (!options.report) {
    const interruption = new AbortController();
    const works = await prepareWorks(places, names, options, interruption.signal);
    await measureAll(works, interruption);
    if (interruption.signal.aborted) {
      sayHowToGoOn(options, works);
      // What a table's preparation left running must not hold the terminal.
      process.exit(interruptedExitCode);
    }
    const outcomes = works.map(({ table, journal }) => outcomeOf(table, journal.content));
    if (options.row !== undefined || options.subject !== undefined) {
      const groups = works.flatMap(({ plan }) => plan.groups);
      const wanted = new Set(groups.flatMap(({ rows }) => rows));
      const rows = outcomes.flatMap((outcome) => outcome.rows);
      const asked = rows.filter(({ row }) => wanted.has(row)).map(describeRow);
      const ids = new Set(groups.map(({ cell }) => cell.id));
      const behaviours = outcomes
        .flatMap((outcome) => outcome.behaviours)
        .filter((found) => ids.has(found.behaviours.cell))
        .map(describeBehaviours);
      console.log(`\n${[...asked, ...behaviours].join('\n\n')}`);
    }
    if (works.some(({ plan }) => plan.isTrial)) return exitCodeOf(outcomes);
  }
  return exitCodeOf(await conclude(places, names));
}

async function prepareWorks(
  places: Places,
  names: readonly string[],
  options: Options,
  signal: AbortSignal,
): Promise<Work[]> {
  const tables = await Promise.all(names.map((name) => loadTable(places.tables, name)));
  const amongAll = options.table === undefined;
  const plans = tables.map(({ table }) => ({
    table,
    plan: planTable({ ...options, table, amongAll }),
  }));
  const machine = await describeMachine(places.tables);
  const wakeUp = await measureWakeUp();
  return plans.map(({ table, plan }, index) => {
    const loaded = tables[index];
    if (!loaded) throw new Error(`table ${table.table} is not loaded`);
    const pathOf = plan.isTrial ? trialPath : journalPath;
    const journal = new Journal({
      path: pathOf(places, table.table),
      header: headerOf(loaded, machine, wakeUp),
      cells: plan.groups.map((group) => group.cell.id),
      budget: plan.budget,
      fresh: options.fresh || plan.isTrial,
    });
    const measuring = new Measuring({ plan, module: loaded.module, journal, signal });
    return { table, plan, journal, measuring };
  });
}

async function measureAll(works: readonly Work[], interruption: AbortController): Promise<void> {
  const interrupt = () => interruption.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  const list = new Listr(
    works.map((work) => ({
      title: describeWork(work),
      task: (_, task) => measureTable(work, task, interruption.signal),
    })),
    {
      registerSignalListeners: false,
      // Redrawing only when there is news leaves the processors to the cells.
      rendererOptions: { lazy: true },
    },
  );
  try {
    await list.run();
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

async function measureTable(work: Work, display: Display, signal: AbortSignal): Promise<void> {
  const { table, plan, measuring } = work;
  const isTerminal = process.stdout.isTTY === true;
  let startedAt = performance.now();
  const elapsed = () => describeDuration(performance.now() - startedAt);
  try {
    const prepared = table.prepare?.((line) => {
      display.output = line;
    });
    const interrupted = once(signal, 'abort').then(() => signal.throwIfAborted());
    const { processes } = (await Promise.race([prepared, interrupted])) ?? { processes: [] };
    startedAt = performance.now();
    await measuring.measure(processes, ({ round, rounds, now, remainingMilliseconds }) => {
      const left =
        remainingMilliseconds === 0
          ? ''
          : `, about ${describeDuration(remainingMilliseconds)} left`;
      if (isTerminal) {
        display.title = `${table.table}: round ${round} of ${rounds}, ${elapsed()} gone${left}`;
        if (now !== undefined) display.output = now;
      } else if (now === undefined) {
        display.output = `round ${round} of ${rounds} done, ${elapsed()} gone${left}`;
      }
    });
    display.title = `${table.table}: ${counted(plan.rounds, 'round')} in ${elapsed()}`;
  } catch (error) {
    if (!signal.aborted) throw error;
    display.skip(`${table.table}: interrupted after ${elapsed()}`);
  }
}

function describeWork({ table, plan, measuring }: Work): string {
  const cells = plan.groups.flatMap((group) => group.runs);
  const rows = plan.groups.flatMap((group) => group.rows);
  const kept = measuring.roundsKept;
  return [
    `${table.table}: ${counted(rows.length, 'row')}, ${counted(cells.length, 'cell')} a round`,
    `${counted(plan.rounds, 'round')}${kept === 0 ? '' : `, going on after round ${kept}`}`,
    `about ${describeDuration(measuring.remainingMilliseconds)}`,
  ].join(', ');
}

function sayHowToGoOn({ table, rounds, row, subject }: Options, works: readonly Work[]): void {
  const again = { TABLE: table, ROUNDS: rounds, ROW: row, SUBJECT: subject };
  if (works.some(({ plan }) => plan.isTrial)) {
    console.log(`\nInterrupted. Start anew: ${repeatCommand(again)}`);
    return;
  }
  console.log('\nInterrupted. What was measured is kept.');
  console.log(`Go on:      ${repeatCommand(again)}`);
  console.log(`Start anew: ${repeatCommand({ ...again, FRESH: 1 })}`);
}

/** Writes the results of these tables, and the report of every table that has been measured. */
async function conclude(places: Places, names: readonly string[]): Promise<TableOutcome[]> {
  const outcomes: TableOutcome[] = [];
  for (const name of tableNames(places.tables)) {
    const journal = readJournal(journalPath(places, name));
    if (!journal) continue;
    const { table } = await loadTable(places.tables, name);
    outcomes.push(outcomeOf(table, journal));
  }
  if (outcomes.length === 0) throw new Error(`${places.out}: expected at least one journal`);
  const concluded = outcomes.filter((outcome) => names.includes(outcome.table.table));
  for (const outcome of concluded) {
    writeResults(resultsPath(places, outcome.table.table), resultsOf(outcome));
  }
  writeReport(places, outcomes);
  for (const outcome of concluded) {
    if (outcome.table.document.layout !== undefined) {
      console.log(`\n${describeDocument(outcome)}`);
    }
    for (const found of outcome.behaviours) console.log(`\n${describeBehaviours(found)}`);
  }
  for (const outcome of concluded) {
    const missing = describeUnmeasured(outcome);
    console.log(`\n${sentenceOf(outcome)}\n${describeTally(outcome)}${missing && `\n${missing}`}`);
  }
  console.log(`\nReport: ${relative(process.cwd(), reportPath(places))}`);
  return concluded;
}

/** A subject of ours that fails its own row is a defect, not a figure. */
function exitCodeOf(outcomes: readonly TableOutcome[]): number {
  const failed = outcomes
    .flatMap(({ rows }) => rows)
    .flatMap(({ row, subjects }) => subjects.map((found) => ({ row, ...found })))
    .filter(({ subject, ok, unavailable }) => subject.role === 'ours' && !ok && !unavailable);
  for (const { row, subject, note } of failed) {
    console.error(`${subject.name} failed the row ${row.row}: ${note}`);
  }
  return failed.length === 0 ? 0 : 1;
}
