/**
 * What all journals come to: the results, the report, and what the terminal says of it.
 *
 * Invariant: computed from the journals as they stand in the files, whatever this run has measured.
 */
import { relative } from 'node:path';
import {
  describeBehaviours,
  describeDocument,
  describeTally,
  describeUnmeasured,
} from '../report/console.js';
import { writeReport } from '../report/report.js';
import { sentenceOf } from '../report/sentence.js';
import { readJournal } from './journal.js';
import { outcomeOf, type TableOutcome } from './outcome.js';
import { journalPath, type Places, reportPath, resultsPath } from './places.js';
import { resultsOf, writeResults } from './results.js';
import { loadTable, tableNames } from './tables.js';

/** Of every table that has been measured. */
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

/** The page's path comes last, where it is found. */
export function sayOutcomes(
  places: Places,
  outcomes: readonly TableOutcome[],
  much: 'all' | 'sentence',
): void {
  for (const outcome of much === 'all' ? outcomes : []) {
    const { table, unmeasured, behaviours } = outcome;
    // The terminal shows the document's lines once they are there together.
    const isWhole = unmeasured.every(({ column }) => column === undefined);
    if (table.document?.layout !== undefined && isWhole) {
      console.log(`\n${describeDocument(outcome)}`);
    }
    for (const found of behaviours) console.log(`\n${describeBehaviours(found)}`);
  }
  for (const outcome of outcomes) {
    const missing = describeUnmeasured(outcome);
    console.log(`\n${sentenceOf(outcome)}\n${describeTally(outcome)}`);
    if (missing) console.log(`${missing.words}: ${missing.command}`);
  }
  console.log();
  sayPage(places);
}

export function sayPage(places: Places): void {
  console.log(`Page:   ${relative(process.cwd(), reportPath(places))}`);
}
