/**
 * Runs a program and returns what it prints.
 *
 * Invariant: a program that fails is an error that shows the command and the end of what it said.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const linesShown = 40;

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Gets what the program says, a line at a time. */
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
  let said = '';
  const hear = (text: string) => {
    said += text;
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
  const end = said.trimEnd().split('\n').slice(-linesShown).join('\n');
  throw new Error(
    `${[command, ...parameters].join(' ')} ended with ${signal ?? code}, in ${cwd}:\n${end}`,
  );
}
