/** The interface between the runner and the file of each runtime. */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { bundleThread, type Entry } from './bundle.js';

export interface Runtime {
  readonly name: string;
  readonly entry: Entry;
  /** The path of the runtime, or why it cannot run here. */
  find(): { path: string } | { missing: string };
  /** Runs the bundle and passes on each line of output. Resolves with the runtime's version. */
  run(path: string, bundle: string, onLine: (line: string) => void): Promise<string>;
}

/** The longest run of a runtime, in milliseconds. */
export const timeLimit = 600_000;

/** Runs a program and passes on its lines. Rejects if the program cannot start or runs too long. */
export async function runProgram(
  path: string,
  parameters: string[],
  onLine: (line: string) => void,
): Promise<number | null> {
  const program = spawn(path, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  const timer = setTimeout(() => program.kill('SIGKILL'), timeLimit);
  try {
    const ended = new Promise<number | null>((resolve, reject) => {
      program.once('error', reject);
      program.once('close', resolve);
    });
    createInterface(program.stdout).on('line', onLine);
    return await ended;
  } finally {
    clearTimeout(timer);
  }
}

/** The version number in the output of `--version`. */
export async function versionOf(path: string): Promise<string> {
  let version: string | undefined;
  await runProgram(path, ['--version'], (line) => {
    version ??= /\d+([.-]\d+)+/.exec(line)?.[0];
  });
  return version ?? 'of an unknown version';
}

/** A runtime that is a program and takes the bundle as its parameter. */
export function processRuntime(
  name: string,
  find: Runtime['find'],
  parameters: string[] = [],
): Runtime {
  return {
    name,
    entry: 'console',
    find,
    async run(path, bundle, onLine) {
      await bundleThread('node', join(dirname(bundle), 'thread.mjs'));
      await bundleThread('node', join(dirname(bundle), 'pool.mjs'), 'pool');
      await runProgram(path, [...parameters, bundle], onLine);
      return versionOf(path);
    },
  };
}
