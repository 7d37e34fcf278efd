/** The load driver oha: the one that `make oha` built, or the one on PATH. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tools = fileURLToPath(new URL('../../.tools/bin/', import.meta.url));

export interface Oha {
  readonly program: string;
  /** With its version. */
  readonly name: string;
}

export function findOha(): Oha | undefined {
  const folders = [tools, ...(process.env.PATH ?? '').split(delimiter)];
  const program = folders.map((folder) => join(folder, 'oha')).find(isExecutable);
  if (program === undefined) return undefined;
  return { program, name: execFileSync(program, ['--version'], { encoding: 'utf8' }).trim() };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
