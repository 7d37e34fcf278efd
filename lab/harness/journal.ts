/**
 * The raw data: one line of JSON per finished group of a round, in the order they were measured.
 *
 * Invariant: the file is only ever appended to while its key (table, machine, versions, code)
 * holds, so an interrupted run loses at most the group it was in, and everything that is reported
 * can be computed again from here.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Load } from './load.js';
import type { Machine } from './machine.js';
import type { Behaviour, Budget } from './table.js';

/** The first line: what every line below was measured with. */
export interface Header {
  readonly kind: 'table';
  readonly table: string;
  readonly key: string;
  readonly machine: Machine;
  readonly wakeUpMicroseconds: number;
  /** By npm package. */
  readonly versions: Readonly<Record<string, string>>;
}

/** From here these cells are measured anew; what stands above about them is superseded. */
export interface Start {
  readonly kind: 'start';
  readonly cells: readonly string[];
  readonly budget: Budget;
}

export interface SubjectRound {
  readonly subject: string;
  /** The second run of the same subject, which shows the noise. */
  readonly control: boolean;
  readonly ok: boolean;
  readonly note: string;
  readonly milliseconds: number;
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /** As in `Measurement.unequal`. */
  readonly unequal?: string;
  /** As in `Measurement.unavailable`. */
  readonly unavailable?: true;
  /** As in `Measurement.behaviours`. */
  readonly behaviours?: Readonly<Record<string, Behaviour>>;
}

/** All subjects of one cell, measured back to back. */
export interface GroupRound {
  readonly kind: 'round';
  readonly cell: string;
  readonly round: number;
  readonly date: string;
  /** How often the group was measured in this round; only the calmest is kept. */
  readonly attempts: number;
  readonly load: Load | null;
  readonly subjects: readonly SubjectRound[];
}

/** These cells have all the rounds they were asked for. */
export interface End {
  readonly kind: 'end';
  readonly cells: readonly string[];
}

type Line = Header | Start | GroupRound | End;

/** What the journal holds about one cell. */
export interface Group {
  readonly budget: Budget;
  readonly rounds: GroupRound[];
  finished: boolean;
}

export interface JournalContent {
  readonly header: Header;
  readonly groups: Map<string, Group>;
}

export function readJournal(path: string): JournalContent | undefined {
  if (!existsSync(path)) return undefined;
  const lines = readFileSync(path, 'utf8').split('\n').flatMap(parseLine);
  const [header] = lines;
  if (header?.kind !== 'table') return undefined;
  const groups = new Map<string, Group>();
  for (const line of lines) {
    if (line.kind === 'start') {
      for (const cell of line.cells) {
        groups.set(cell, { budget: line.budget, rounds: [], finished: false });
      }
    } else if (line.kind === 'round') {
      groups.get(line.cell)?.rounds.push(line);
    } else if (line.kind === 'end') {
      for (const cell of line.cells) {
        const group = groups.get(cell);
        if (group) group.finished = true;
      }
    }
  }
  return { header, groups };
}

/** A line that was cut short by an interruption is left out. */
function parseLine(text: string): Line[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

function lineOf(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

export class Journal {
  readonly #path: string;
  readonly #header: Header;
  readonly #budget: Budget;
  /** The cells that start anew. */
  readonly #anew: ReadonlySet<string>;
  /** Whose rounds stand in the file and hold. */
  readonly #inFile: Set<string>;
  readonly #content: JournalContent;

  /**
   * Finds out what to do and touches nothing: go on where a run of the same key and budget stopped, and
   * keep what it finished; or else, where it is to be `fresh`, start these cells anew. Other cells are left
   * as they are.
   */
  constructor(options: {
    readonly path: string;
    readonly header: Header;
    readonly cells: readonly string[];
    readonly budget: Budget;
    readonly fresh: boolean;
  }) {
    const { path, header, cells, budget, fresh } = options;
    const found = readJournal(path);
    const groups = found?.header.key === header.key ? found.groups : new Map<string, Group>();
    const sameBudget = (cell: string) => isDeepStrictEqual(groups.get(cell)?.budget, budget);
    this.#path = path;
    this.#header = header;
    this.#budget = budget;
    this.#anew = new Set(cells.filter((cell) => fresh || !sameBudget(cell)));
    this.#inFile = new Set(groups.keys());
    for (const cell of this.#anew) groups.delete(cell);
    this.#content = { header, groups };
  }

  get content(): JournalContent {
    return this.#content;
  }

  roundsOf(cell: string): readonly GroupRound[] {
    return this.#content.groups.get(cell)?.rounds ?? [];
  }

  /** True of a cell that this run need not measure. */
  isFinished(cell: string): boolean {
    return this.#content.groups.get(cell)?.finished === true;
  }

  /** Of the cells of the run, those that are measured now; what stood in the file of the rest stays. */
  begin(cells: readonly string[]): void {
    const anew = cells.filter((cell) => this.#anew.has(cell));
    for (const cell of anew) this.#inFile.delete(cell);
    if (this.#inFile.size === 0) {
      mkdirSync(dirname(this.#path), { recursive: true });
      writeFileSync(this.#path, lineOf(this.#header));
    } else if (!readFileSync(this.#path, 'utf8').endsWith('\n')) {
      // An interruption cut the last line short; the next one stands on its own.
      appendFileSync(this.#path, '\n');
    }
    if (anew.length === 0) return;
    this.#append({ kind: 'start', cells: anew, budget: this.#budget });
    for (const cell of anew) {
      this.#content.groups.set(cell, { budget: this.#budget, rounds: [], finished: false });
      this.#inFile.add(cell);
    }
  }

  add(round: GroupRound): void {
    this.#content.groups.get(round.cell)?.rounds.push(round);
    this.#append(round);
  }

  finish(cells: readonly string[]): void {
    for (const cell of cells) {
      const group = this.#content.groups.get(cell);
      if (group) group.finished = true;
    }
    this.#append({ kind: 'end', cells });
  }

  #append(line: Line): void {
    appendFileSync(this.#path, lineOf(line));
  }
}
