/** The folders of the tables and of the results. */
import { join } from 'node:path';

export interface Places {
  /** The folder of compiled tables: `<tables>/<name>/table.js`. */
  readonly tables: string;
  /** The folder of results, journals and the report. */
  readonly out: string;
}

export function journalPath({ out }: Places, table: string): string {
  return join(out, `${table}.jsonl`);
}

/** The journal of a trial of one subject, separate from the table's. */
export function trialPath({ out }: Places, table: string): string {
  return join(out, `${table}.trial.jsonl`);
}

export function resultsPath({ out }: Places, table: string): string {
  return join(out, `${table}.json`);
}

export function reportPath({ out }: Places): string {
  return join(out, 'report', 'index.html');
}

/** The picture of the table's first row. */
export function picturePath({ out }: Places, table: string): string {
  return join(out, 'report', `${table}.svg`);
}
