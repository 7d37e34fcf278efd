/**
 * The process of one cell, from its start to its measurement. A cell that fails does not reject: its measurement has a
 * note that says how. Only the abort signal rejects.
 *
 * Invariant: when a process has ended, in any way, its whole process group has ended.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Condition } from './condition.js';
import type { Cell, Measurement, Row, Samples } from './table.js';

/** A line that the process prints (see `cell-process.ts`). */
type Line =
  | { readonly slices: readonly OfferedSlice[] }
  | { readonly samples: Samples; readonly ok?: undefined }
  | Measurement;

export interface OfferedSlice {
  readonly name: string;
  readonly condition: Condition;
}

/** The end of a process. */
export interface Ended extends Measurement {
  /** Whether it crashed without a measurement, which says nothing about the subject. */
  readonly crashed: boolean;
}

const defaultLimitMilliseconds = 30_000;
const endedWhileAwaiting = 13;
/** The last words of a process that has ended are read within this time. */
const drainMilliseconds = 500;
const program = fileURLToPath(new URL('./cell-process.js', import.meta.url));

export interface CellOptions {
  readonly module: string;
  readonly cell: Cell;
  readonly rows: readonly Row[];
  /** The name by which the cell knows it. */
  readonly subject: string;
  readonly signal: AbortSignal;
}

export class CellProcess {
  readonly #limit: number;
  readonly #signal: AbortSignal;
  readonly #child: ChildProcessWithoutNullStreams | undefined;
  readonly #ended: Promise<Ended>;
  #resolveEnded: (ended: Ended) => void = () => {};
  /** Resolves with the next line of the protocol, or with undefined at the end of the process. */
  #hear: (line: Line | undefined) => void = () => {};
  #errors = '';
  #isLate = false;
  /** The slices that it serves; empty until it is ready, and for a cell that is not sliced. */
  slices: readonly OfferedSlice[] = [];
  /** Set when the process has ended. */
  ended: Ended | undefined;

  private constructor({ module, cell, rows, subject, signal }: CellOptions) {
    this.#limit = cell.limitMilliseconds ?? defaultLimitMilliseconds;
    this.#signal = signal;
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    const [file, ...words] = commandOf(module, cell, rows, subject);
    if (!existsSync(file)) {
      const note = `not here: ${basename(file)}, which \`make lab\` installs if it can`;
      this.#end({ ok: false, note, unavailable: true, samples: {}, crashed: false });
      return;
    }
    const child = spawn(file, words, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    this.#child = child;
    this.#listen(child);
    signal.addEventListener('abort', this.kill);
  }

  /** Starts the process; resolves when it is ready or has ended. */
  static async start(options: CellOptions): Promise<CellProcess> {
    options.signal.throwIfAborted();
    const started = new CellProcess(options);
    const line = await started.#timed(started.#nextLine());
    if (line && 'slices' in line) started.slices = line.slices;
    else await started.#timed(started.#ended);
    return started;
  }

  /** Runs a slice. Returns undefined if the process has failed, which ends it. */
  async run(slice: string, milliseconds: number): Promise<Samples | undefined> {
    if (this.ended) return undefined;
    this.#child?.stdin.write(`${JSON.stringify({ slice, milliseconds })}\n`);
    const line = await this.#timed(this.#nextLine());
    if (line && 'samples' in line && line.ok === undefined) return line.samples;
    await this.#timed(this.#ended);
    return undefined;
  }

  /** Ends the requests, and waits for the measurement. */
  end(): Promise<Ended> {
    this.#child?.stdin.end();
    return this.#timed(this.#ended);
  }

  /** The process id; undefined for a program that is not installed. */
  get id(): number | undefined {
    return this.#child?.pid;
  }

  #nextLine(): Promise<Line | undefined> {
    if (this.ended) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#hear = resolve;
    });
  }

  /** Kills the process if `awaited` takes longer than the limit; the end of the process settles `awaited`. */
  async #timed<Value>(awaited: Promise<Value>): Promise<Value> {
    const alarm = setTimeout(() => {
      this.#isLate = true;
      this.kill();
    }, this.#limit);
    try {
      const value = await awaited;
      this.#signal.throwIfAborted();
      return value;
    } finally {
      clearTimeout(alarm);
    }
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    const { stdin, stdout, stderr } = child;
    let measurement: Measurement | undefined;
    createInterface({ input: stdout }).on('line', (text) => {
      const line = parse(text);
      if (!line) return;
      if ('ok' in line && line.ok !== undefined) measurement = line;
      this.#hear(line);
    });
    stderr.on('data', (data) => {
      this.#errors += data;
    });
    // A process that has ended does not read its last request.
    stdin.on('error', () => {});
    child.once('error', ({ message }) => {
      this.#errors += `Error: ${message}\n`;
    });
    child.once('exit', () => {
      // A process left behind would hold the pipes open.
      this.kill();
      // One with a session of its own is not of the group.
      const drained = setTimeout(() => {
        stdout.destroy();
        stderr.destroy();
      }, drainMilliseconds);
      child.once('close', () => clearTimeout(drained));
    });
    child.once('close', (exitCode) => this.#end(this.#endOf(measurement, exitCode)));
  }

  #endOf(measurement: Measurement | undefined, exitCode: number | null): Ended {
    const failed = (note: string, crashed: boolean): Ended => {
      return { ok: false, note, samples: {}, crashed };
    };
    if (this.#isLate) return failed(`did not finish within ${this.#limit / 1000} s`, false);
    if (exitCode === endedWhileAwaiting) {
      return failed('ended with a promise that never settled', false);
    }
    if (exitCode !== 0 || !measurement) return failed(lastWords(this.#errors, exitCode), true);
    return { ...measurement, crashed: false };
  }

  #end(ended: Ended): void {
    this.#signal.removeEventListener('abort', this.kill);
    this.ended = ended;
    this.#hear(undefined);
    this.#resolveEnded(ended);
  }

  /** Ends the process and all that it started, at once. */
  readonly kill = (): void => {
    const leader = this.#child?.pid;
    if (leader === undefined) return;
    try {
      process.kill(-leader, 'SIGKILL');
    } catch {
      // The group is empty.
    }
  };
}

function commandOf(
  module: string,
  cell: Cell,
  rows: readonly Row[],
  subject: string,
): readonly [file: string, ...words: string[]] {
  if ('command' in cell) return cell.command(subject);
  const measures = rows.flatMap(({ measure, processorTime = measure }) => [measure, processorTime]);
  const words = [program, module, cell.id, subject, JSON.stringify(measures)];
  return [cell.runtime ?? process.execPath, ...words];
}

/** Returns undefined for a line that is not of the protocol: a subject may print. */
function parse(text: string): Line | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const line = JSON.parse(text);
    const isOfProtocol = Array.isArray(line.slices) || typeof line.samples === 'object';
    return isOfProtocol ? line : undefined;
  } catch {
    return undefined;
  }
}

function lastWords(stderr: string, exitCode: number | null): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const said = lines.find((line) => /^(\w*Error|Uncaught)\b.*:/.test(line));
  return said ?? `its process broke down (${exitCode === null ? 'killed' : `exit ${exitCode}`})`;
}
