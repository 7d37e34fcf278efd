/**
 * Computes the results and the report from all journals, and prints the summary.
 *
 * Invariant: computed only from the journal files, never from the memory of this run.
 */
import { relative } from 'node:path';
import {
  describeBehaviours,
  describeDocument,
  describeTally,
  describeUnmeasured,
} from '../report/console.js';
import { writeReport } from '../report/report.js';
import { besideOf, sentenceOf, textOf } from '../report/sentence.js';
import { readJournal } from './journal.js';
import { outcomeOf, type TableOutcome } from './outcome.js';
import { journalPath, type Places, reportPath, resultsPath } from './places.js';
import { resultsOf, writeResults } from './results.js';
import { loadTable, tableNames } from './tables.js';

/** Returns the outcomes of all measured tables. */
export async function outcomesOf(places: Places): Promise<readonly TableOutcome[]> {
  const outcomes: TableOutcome[] = [];
  for (const name of tableNames(places.tables)) {
    const journal = readJournal(journalPath(places, name));
    if (!journal) continue;
    const { table } = await loadTable(places.tables, name);
    outcomes.push(outcomeOf(table, journal));
  }
  if (outcomes.length === 0) throw new Error(`${places.out}: expected at least one journal`);
  return outcomes;
}

export function writeOutcomes(places: Places, outcomes: readonly TableOutcome[]): void {
  for (const outcome of outcomes) {
    writeResults(resultsPath(places, outcome.table.table), resultsOf(outcome));
  }
  const measured = outcomes.map(({ table }) => table.table);
  const unmeasured = tableNames(places.tables).filter((name) => !measured.includes(name));
  writeReport(places, outcomes, unmeasured);
}

/** Prints the outcomes, and the path of the page last. */
export function sayOutcomes(
  places: Places,
  outcomes: readonly TableOutcome[],
  much: 'all' | 'sentence',
): void {
  for (const outcome of much === 'all' ? outcomes : []) {
    const { table, unmeasured, behaviours } = outcome;
    // The document's lines are printed only when all of them are measured.
    const isWhole = unmeasured.every(({ column }) => column === undefined);
    if (table.document?.layout !== undefined && isWhole) {
      console.log(`\n${describeDocument(outcome)}`);
    }
    for (const found of behaviours) console.log(`\n${describeBehaviours(found)}`);
  }
  for (const outcome of outcomes) {
    const missing = describeUnmeasured(outcome);
    console.log(`\n${sentenceOf(outcome)}`);
    for (const beside of besideOf(outcome)) console.log(textOf(beside));
    console.log(describeTally(outcome));
    if (missing) console.log(`${missing.words}: ${missing.command}`);
  }
  console.log();
  sayPage(places);
}

export function sayPage(places: Places): void {
  console.log(`Page:   ${relative(process.cwd(), reportPath(places))}`);
}
