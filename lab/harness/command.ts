/**
 * The lab's command: measures tables in parts, headlines first, and writes the results and the report after each part.
 *
 * Invariant: however it ends (last round, Ctrl-C, error), finished rounds are kept, no process is left running, and the
 * last lines say where the results are or how to continue.
 */
import { once, setMaxListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { type CommandDef, defineCommand } from 'citty';
import { Listr } from 'listr2';
import { sum } from 'simple-statistics';
import { describeBehaviours, describeRow, describeTally } from '../report/console.js';
import { counted, describeDuration } from '../report/format.js';
import { sentenceOf } from '../report/sentence.js';
import { outcomesOf, sayOutcomes, sayPage, writeOutcomes } from './conclude.js';
import { headerOf } from './header.js';
import { Journal } from './journal.js';
import { describeMachine } from './machine.js';
import { type Options, optionArguments, parseOptions } from './options.js';
import { openCells, outcomeOf, type TableOutcome } from './outcome.js';
import { journalPath, type Places, reportPath, trialPath } from './places.js';
import { type Part, type Plan, planAsked, planPart } from './plan.js';
import { repeatCommand } from './repeat.js';
import { type Duration, Measuring } from './rounds.js';
import type { Prepared, Table } from './table.js';
import { againstItself, type LoadedTable, loadTable, tableNames } from './tables.js';
import { measureWakeUp } from './wake-up.js';

/** A part of a table, ready to be measured. */
interface Work {
  readonly table: Table;
  readonly plan: Plan;
  readonly journal: Journal;
  readonly measuring: Measuring;
  prepare(report: (line: string) => void): Promise<Prepared | undefined>;
}

/** The used part of a listr task. */
interface Display {
  title: string;
  output: string;
  skip(message: string): void;
}

const interruptedExitCode = 130;

export function labCommand(places: Places): CommandDef<typeof optionArguments> {
  return defineCommand({
    meta: {
      name: 'lab',
      description: 'Measures Pointsman and its peers side by side on this machine',
    },
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
  if (options.report) return exitCodeOf(await conclude(places, names));

  const startedAt = performance.now();
  const interruption = new AbortController();
  // Each process of a round listens to the signal.
  setMaxListeners(0, interruption.signal);
  const { due, later } = await prepareWorks(places, names, options, interruption.signal);
  await measureAll(places, due, interruption);
  if (interruption.signal.aborted) {
    printContinuation(places, options, due);
    // Ends the processes of a table's preparation too, which would hold the terminal.
    process.exit(interruptedExitCode);
  }
  const isAsked = options.row !== undefined || options.subject !== undefined;
  if (options.itself) printDifferences(due);
  else if (isAsked) printRequested(due);
  const outcomes = due.some(({ plan }) => plan.isTrial)
    ? due.map(({ table, journal }) => outcomeOf(table, journal.content))
    : await conclude(places, names, isAsked);
  console.log(`Took:   ${describeDuration(performance.now() - startedAt)}`);
  if (later.length > 0) {
    console.log(`Next:   ${repeatCommand({ FULL: 1 })} measures every row, ${howLong(later)};`);
    console.log(`        ${repeatCommand({ TABLE: names[0] })} those of one table`);
  }
  return exitCodeOf(outcomes);
}

/** Writes all results, and prints those of these tables. */
async function conclude(
  places: Places,
  names: readonly string[],
  isAsked = false,
): Promise<readonly TableOutcome[]> {
  const outcomes = await outcomesOf(places);
  writeOutcomes(places, outcomes);
  const concluded = outcomes.filter(({ table }) => names.includes(table.table));
  sayOutcomes(places, concluded, isAsked ? 'sentence' : 'all');
  return concluded;
}

/** Returns what is measured now, and what remains for a later run. */
async function prepareWorks(
  places: Places,
  names: readonly string[],
  options: Options,
  signal: AbortSignal,
): Promise<{ readonly due: readonly Work[]; readonly later: readonly Work[] }> {
  const loaded = await Promise.all(names.map((name) => loadTable(places.tables, name)));
  const tables = options.itself
    ? loaded.map(({ table, module }) => ({ table: againstItself(table), module }))
    : loaded;
  const isAsked = options.itself || (options.row ?? options.subject) !== undefined;
  const plansOf = ({ table }: LoadedTable): [Plan, ...Plan[]] => {
    if (isAsked) return [planAsked({ ...options, table })];
    const { rounds } = options;
    return [planPart(table, 'headline', rounds), planPart(table, 'all other rows', rounds)];
  };
  const planned = tables.map((loaded) => ({ loaded, plans: plansOf(loaded) }));
  const isHeadlinesOnly = options.table === undefined && !options.full;
  const machine = await describeMachine(places.tables);
  const wakeUp = await measureWakeUp();
  const open = (fresh: boolean) =>
    planned.map(({ loaded, plans }) => {
      const { isTrial } = plans[0];
      const now = isHeadlinesOnly ? plans.slice(0, 1) : plans;
      const path = (isTrial ? trialPath : journalPath)(places, loaded.table.table);
      const header = headerOf(loaded, machine, wakeUp);
      const cells = now.flatMap(({ groups }) => groups.map(({ cell }) => cell.id));
      const journal = new Journal({ path, header, cells, fresh: fresh || isTrial });
      return { journal, isDone: cells.every((cell) => journal.isFinished(cell)) };
    });
  let journals = open(options.fresh);
  // If everything is measured already, measure it again; otherwise only what is missing.
  if (journals.every(({ isDone }) => isDone)) journals = open(true);
  const works = planned.flatMap(({ loaded: { table, module }, plans }, index) => {
    const journal = journals[index]?.journal;
    if (!journal) return [];
    let prepared: Promise<Prepared | undefined> | undefined;
    const prepare: Work['prepare'] = (report) => {
      prepared ??= Promise.resolve(table.prepare?.(report));
      return prepared;
    };
    return plans.map((plan) => {
      const measuring = new Measuring({
        ...{ plan, module, journal, signal },
        openCells: (cells) => openCells(table, journal.content, cells),
      });
      return { table, plan, journal, measuring, prepare };
    });
  });
  if (isAsked) return { due: works, later: [] };
  const ofPart = (part: Part) => works.filter(({ plan }) => plan.part === part);
  const duration = ({ measuring }: Work) => measuring.remaining.least;
  // The shortest first, so that a first verdict appears early.
  const headlines = ofPart('headline').sort((a, b) => duration(a) - duration(b));
  const others = ofPart('all other rows');
  if (!isHeadlinesOnly) return { due: [...headlines, ...others], later: [] };
  return { due: headlines, later: others.filter(({ measuring }) => !measuring.isDone) };
}

async function measureAll(
  places: Places,
  works: readonly Work[],
  interruption: AbortController,
): Promise<void> {
  const interrupt = () => interruption.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  const due = works.filter(({ measuring }) => !measuring.isDone);
  if (due.length > 1) {
    console.log(
      `${counted(due.length, 'part')} to measure, ${howLong(due)}. Ctrl-C keeps finished rounds.`,
    );
  }
  const list = new Listr(
    due.map((work) => ({
      title: describeWork(work),
      task: async (_, task) => {
        await measure(work, task, interruption.signal);
        // `conclude` writes the page after the last part.
        if (interruption.signal.aborted || work.plan.isTrial || work === due.at(-1)) return;
        writeOutcomes(places, await outcomesOf(places));
      },
    })),
    {
      registerSignalListeners: false,
      // Redraws only on changes, to leave the processors to the cells.
      rendererOptions: { lazy: true },
    },
  );
  try {
    await list.run();
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

async function measure(work: Work, display: Display, signal: AbortSignal): Promise<void> {
  const { measuring } = work;
  const isTerminal = process.stdout.isTTY === true;
  const name = nameOf(work);
  if (signal.aborted) {
    display.skip(`${name}: not started`);
    return;
  }
  let startedAt = performance.now();
  const elapsed = () => describeDuration(performance.now() - startedAt);
  try {
    const prepared = work.prepare((line) => {
      display.output = line;
    });
    const interrupted = once(signal, 'abort').then(() => signal.throwIfAborted());
    const { processes } = (await Promise.race([prepared, interrupted])) ?? { processes: [] };
    startedAt = performance.now();
    await measuring.measure(processes, ({ done, groups, now, remaining }) => {
      const left = remaining.most === 0 ? '' : `, ${describeRange(remaining)} left`;
      const state = `${done} of ${counted(groups, 'group')} done, ${elapsed()} elapsed${left}`;
      if (isTerminal) {
        display.title = `${name}: ${state}`;
        if (now !== undefined) display.output = now;
      } else if (now === undefined) {
        display.output = state;
      }
    });
    const found =
      work.plan.part === 'headline'
        ? `: ${sentenceOf(outcomeOf(work.table, work.journal.content))}`
        : '';
    display.title = `${name}: ${counted(measuring.rounds, 'round')} in ${elapsed()}${found}`;
  } catch (error) {
    if (!signal.aborted) throw error;
    display.skip(`${name}: interrupted after ${elapsed()}`);
  }
}

function nameOf({ table, plan }: Work): string {
  return `${table.table}, ${plan.part}`;
}

function describeWork(work: Work): string {
  const { plan, measuring } = work;
  const cells = plan.groups.flatMap((group) => group.runs);
  const rows = plan.groups.flatMap((group) => group.rows);
  const kept = measuring.rounds;
  return [
    `${nameOf(work)}: ${counted(rows.length, 'row')}, ${cells.length} processes a round`,
    ...(kept === 0 ? [] : [`continuing after round ${kept}`]),
    howLong([work]),
  ].join(', ');
}

function howLong(works: readonly Work[]): string {
  const all = works.map(({ measuring }) => measuring.remaining);
  return describeRange({
    least: sum(all.map(({ least }) => least)),
    most: sum(all.map(({ most }) => most)),
  });
}

/** As `20 s to 1 min 30 s`, or `about 20 s` if the number of rounds is known. */
function describeRange({ least, most }: Duration): string {
  const [low, high] = [describeDuration(least), describeDuration(most)];
  return low === high ? `about ${high}` : `${low} to ${high}`;
}

function printRequested(works: readonly Work[]): void {
  const outcomes = works.map(({ table, journal }) => outcomeOf(table, journal.content));
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

/** Prints the number of rows with each verdict in a run of ours against itself, and the rows that differ. */
function printDifferences(works: readonly Work[]): void {
  for (const { table, journal } of works) {
    const outcome = outcomeOf(table, journal.content);
    const differ = outcome.rows.filter(({ verdict }) => /^(faster|slower)$/.test(verdict));
    console.log(`\n${table.table}: ${describeTally(outcome)}`);
    for (const row of differ) console.log(describeRow(row));
  }
}

function printContinuation(
  places: Places,
  { table, full, rounds, row, subject, itself }: Options,
  works: readonly Work[],
): void {
  const again = {
    ...{ TABLE: table, FULL: full ? 1 : undefined },
    ...{ ROUNDS: rounds, ROW: row, SUBJECT: subject, ITSELF: itself ? 1 : undefined },
  };
  if (works.some(({ plan }) => plan.isTrial)) {
    console.log(`\nInterrupted. Start anew: ${repeatCommand(again)}`);
    return;
  }
  console.log('\nInterrupted. Finished rounds are kept.');
  if (existsSync(reportPath(places))) sayPage(places);
  console.log(`Continue:   ${repeatCommand(again)}`);
  console.log(`Start anew: ${repeatCommand({ ...again, FRESH: 1 })}`);
}

/** Returns 1 if a subject of ours failed a row: that is a defect. */
function exitCodeOf(outcomes: readonly TableOutcome[]): number {
  const failures = new Map<string, string[]>();
  for (const { row, subjects } of outcomes.flatMap(({ rows }) => rows)) {
    for (const { subject, ok, unavailable, note } of subjects) {
      if (subject.role !== 'ours' || ok || unavailable) continue;
      const what = `${subject.name} failed: ${note}`;
      failures.set(what, [...(failures.get(what) ?? []), row.row]);
    }
  }
  for (const [what, [first, ...others]] of failures) {
    const more = others.length === 0 ? '' : ` and ${counted(others.length, 'more row')}`;
    console.error(`${what}; row ${first}${more}`);
  }
  return failures.size === 0 ? 0 : 1;
}
