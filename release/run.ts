/**
 * Runs programs. `run` returns their standard output.
 *
 * Invariant: a failed program of `run` throws an error with the command and the end of its output.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const linesShown = 40;

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with the latest line of the program's output. */
  readonly onLine?: (line: string) => void;
}

export async function run(
  command: string,
  parameters: readonly string[],
  { cwd, env, onLine }: RunOptions,
): Promise<string> {
  const program = spawn(command, parameters, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let output = '';
  const hear = (text: string) => {
    output += text;
    const line = text.trim().split('\n').at(-1);
    if (line) onLine?.(line);
  };
  program.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    hear(text);
  });
  program.stderr.setEncoding('utf8').on('data', hear);
  const [code, signal] = await once(program, 'close');
  if (code === 0) return printed;
  const end = output.trimEnd().split('\n').slice(-linesShown).join('\n');
  throw new Error(
    `${[command, ...parameters].join(' ')} ended with ${signal ?? code}, in ${cwd}:\n${end}`,
  );
}

/** Runs a line of the shell with its output shown. Returns whether it succeeded. */
export async function runShown(line: string, cwd: string): Promise<boolean> {
  const program = spawn('bash', ['-c', line], { cwd, stdio: 'inherit' });
  const [code] = await once(program, 'close');
  return code === 0;
}
