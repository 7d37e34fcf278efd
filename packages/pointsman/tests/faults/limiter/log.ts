/**
 * The log of a process: what the store replied, and what the process started, as lines of a file.
 *
 * Invariant: a line is in the file before the next step begins, so a killed process leaves everything that it did. Times
 * are nanoseconds of the machine's monotonic clock, moments of the store are microseconds.
 */
import { openSync, readFileSync, writeSync } from 'node:fs';

export interface Group {
  readonly limiter: string;
  readonly weights: readonly number[];
  /** The moment with which the store logs it. */
  readonly at: number;
}

/** The store has granted starts. */
export interface Grant {
  readonly kind: 'grant';
  readonly sent: number;
  readonly received: number;
  /** Microseconds until the start. */
  readonly delay: number;
  /** Microseconds for which starts are taken ahead; 0 if they are not. */
  readonly time: number;
  readonly count: number;
  readonly groups: readonly Group[];
}

/** The process gives weight back, or adds to it. Without `received` it got no reply. */
export interface Correction {
  readonly kind: 'correction';
  readonly sent: number;
  readonly received?: number;
  readonly groups: readonly Group[];
}

export interface Started {
  readonly kind: 'start';
  readonly id: number;
  readonly plan: string;
  readonly key: string;
  readonly weight: number;
  readonly at: number;
}

/** The work ended, and had this weight. */
export interface Ended {
  readonly kind: 'end';
  readonly id: number;
  readonly at: number;
  readonly weight: number;
}

/** The process got no turn. */
export interface Pause {
  readonly kind: 'pause';
  readonly from: number;
  readonly until: number;
}

export interface Odd {
  readonly kind: 'odd';
  readonly text: string;
}

export type Line = Grant | Correction | Started | Ended | Pause | Odd;

export class LogWriter {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  write(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

export function readLog(path: string): Line[] {
  // After the last line break there may be a line that a killed process did not finish.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}
