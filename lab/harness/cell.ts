/**
 * Runs one cell in its own process. Always resolves: with samples, or with a note that says how the cell failed.
 *
 * Invariant: when a run has ended, in any way, its whole process group has ended.
 */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { x } from 'tinyexec';
import type { Budget, Cell, Measurement, Row } from './table.js';

export interface CellRun extends Measurement {
  readonly milliseconds: number;
  /** Whether the process crashed without a measurement, which says nothing about the subject. */
  readonly crashed: boolean;
}

const defaultLimitMilliseconds = 30_000;
const endedWhileAwaiting = 13;
const program = fileURLToPath(new URL('./cell-process.js', import.meta.url));

export async function runCell(options: {
  readonly module: string;
  readonly cell: Cell;
  readonly rows: readonly Row[];
  readonly subject: string;
  readonly budget: Budget;
  readonly signal: AbortSignal;
}): Promise<CellRun> {
  const { module, cell, rows, subject, budget, signal } = options;
  const limit = cell.limitMilliseconds ?? defaultLimitMilliseconds;
  const startedAt = performance.now();
  signal.throwIfAborted();
  const wanted = JSON.stringify(
    rows.flatMap(({ measure, processorTime = measure }) => [measure, processorTime]),
  );
  const [file, ...words] =
    'command' in cell
      ? cell.command(subject, budget)
      : [
          cell.runtime ?? process.execPath,
          program,
          module,
          cell.id,
          subject,
          JSON.stringify(budget),
          wanted,
        ];
  if (!existsSync(file)) {
    const note = `not here: ${basename(file)}, which \`make lab\` brings where it can`;
    return { ok: false, note, unavailable: true, samples: {}, milliseconds: 0, crashed: false };
  }
  const running = x(file, words, {
    nodeOptions: {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_ENV: 'production' },
    },
  });
  const killGroup = () => killProcessGroup(running.pid);
  let timedOut = false;
  const alarm = setTimeout(() => {
    timedOut = true;
    killGroup();
  }, limit);
  signal.addEventListener('abort', killGroup);
  // A process left behind would hold the pipes open, and this run would never end.
  running.process?.once('exit', killGroup);
  try {
    const { stdout, stderr, exitCode } = await running;
    signal.throwIfAborted();
    const milliseconds = performance.now() - startedAt;
    const failed = (note: string, crashed: boolean): CellRun => {
      return { ok: false, note, samples: {}, milliseconds, crashed };
    };
    if (timedOut) return failed(`did not finish within ${limit / 1000} s`, false);
    if (exitCode === endedWhileAwaiting) {
      return failed('ended with a promise that never settled', false);
    }
    const measurement = exitCode === 0 ? lastMeasurement(stdout) : undefined;
    if (!measurement) return failed(lastWords(stderr, exitCode), true);
    return { ...complete(measurement, rows, subject), milliseconds, crashed: false };
  } finally {
    clearTimeout(alarm);
    signal.removeEventListener('abort', killGroup);
  }
}

/** Checks a measurement: a failed one has no samples, and one without the samples of a row has failed. */
function complete(found: Measurement, rows: readonly Row[], subject: string): Measurement {
  if (!found.ok) return { ...found, samples: {} };
  const wrong = rows.find((row) => isIn(row, subject) && !usable(found.samples[row.measure]));
  if (!wrong) return found;
  return { ok: false, note: `gave no finite samples of ${wrong.measure}`, samples: {} };
}

function isIn({ subjects }: Row, subject: string): boolean {
  return subjects === undefined || subjects.includes(subject);
}

function usable(samples: readonly number[] | undefined): boolean {
  return samples !== undefined && samples.length > 0 && samples.every(Number.isFinite);
}

function killProcessGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // The group is empty.
  }
}

function lastMeasurement(stdout: string): Measurement | undefined {
  try {
    return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  } catch {
    return undefined;
  }
}

function lastWords(stderr: string, exitCode: number | undefined): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const said = lines.find((line) => /^(\w*Error|Uncaught)\b.*:/.test(line));
  return (
    said ?? `its process broke down (${exitCode === undefined ? 'killed' : `exit ${exitCode}`})`
  );
}
