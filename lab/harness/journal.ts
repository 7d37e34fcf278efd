/**
 * The raw data: one line of JSON per finished group of a round, in the order they were measured.
 *
 * Invariant: while its key (table, machine, versions, code) holds, the file is only appended to. So an interrupted run
 * loses at most the current group, and the report can be computed again from the file.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Load } from './load.js';
import type { Machine } from './machine.js';
import type { Turns } from './statistics.js';
import type { Behaviour } from './table.js';

/** The first line: the conditions of all lines below. */
export interface Header {
  readonly kind: 'table';
  readonly table: string;
  readonly key: string;
  readonly machine: Machine;
  readonly wakeUpMicroseconds: number;
  /** By npm package. */
  readonly versions: Readonly<Record<string, string>>;
}

/** From this line on these cells are measured again; earlier lines about them are superseded. */
export interface Start {
  readonly kind: 'start';
  readonly cells: readonly string[];
}

export interface SubjectRound {
  readonly subject: string;
  /** The second process of the same subject, which shows the noise. */
  readonly control: boolean;
  readonly ok: boolean;
  readonly note: string;
  /** By measure; a sample per turn where the cell is sliced. */
  readonly samples: Readonly<Record<string, Turns>>;
  /** The share of a core that the process used while it should have been idle. */
  readonly idleShare?: number;
  /** As in `Measurement.unequal`. */
  readonly unequal?: string;
  /** As in `Measurement.unavailable`. */
  readonly unavailable?: true;
  /** As in `Measurement.behaviours`. */
  readonly behaviours?: Readonly<Record<string, Behaviour>>;
}

/** All subjects of one cell, each in a new process. */
export interface GroupRound {
  readonly kind: 'round';
  readonly cell: string;
  readonly round: number;
  readonly date: string;
  readonly milliseconds: number;
  readonly load: Load | null;
  readonly subjects: readonly SubjectRound[];
}

/** These cells have enough rounds. */
export interface End {
  readonly kind: 'end';
  readonly cells: readonly string[];
}

type Line = Header | Start | GroupRound | End;

/** The content of the journal for one cell. */
export interface Group {
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
        groups.set(cell, { rounds: [], finished: false });
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

/** Omits a line that an interruption cut short. */
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
  /** The cells that are measured again from the start. */
  readonly #anew: ReadonlySet<string>;
  /** The cells whose rounds in the file are valid. */
  readonly #inFile: Set<string>;
  readonly #content: JournalContent;

  /**
   * Decides without changing the file: continue a run of the same key and keep its finished rounds, or, if
   * `fresh`, start these cells again. Other cells are not affected.
   */
  constructor(options: {
    readonly path: string;
    readonly header: Header;
    readonly cells: readonly string[];
    readonly fresh: boolean;
  }) {
    const { path, header, cells, fresh } = options;
    const found = readJournal(path);
    const groups = found?.header.key === header.key ? found.groups : new Map<string, Group>();
    this.#path = path;
    this.#header = header;
    this.#anew = new Set(cells.filter((cell) => fresh || !groups.has(cell)));
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

  /** Returns whether this run need not measure the cell. */
  isFinished(cell: string): boolean {
    return this.#content.groups.get(cell)?.finished === true;
  }

  /** The cells that this run measures; lines about others stay in the file. */
  begin(cells: readonly string[]): void {
    const anew = cells.filter((cell) => this.#anew.has(cell));
    for (const cell of anew) this.#inFile.delete(cell);
    if (this.#inFile.size === 0) {
      mkdirSync(dirname(this.#path), { recursive: true });
      writeFileSync(this.#path, lineOf(this.#header));
    } else if (!readFileSync(this.#path, 'utf8').endsWith('\n')) {
      // An interruption cut the last line short: the next one starts on a new line.
      appendFileSync(this.#path, '\n');
    }
    if (anew.length === 0) return;
    this.#append({ kind: 'start', cells: anew });
    for (const cell of anew) {
      this.#content.groups.set(cell, { rounds: [], finished: false });
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
