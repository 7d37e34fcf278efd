/** The runtimes that the test runner knows. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const runner = new URL('../packages/pointsman/tests/runtimes/dist/run.js', import.meta.url);

/** Returns their names: the runner's error for an unknown one lists them. */
export async function runtimesOfTests(): Promise<string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, [
    fileURLToPath(runner),
    '?',
  ]).catch((error: { stderr: string }) => error);
  return (/^Error: .*; expected some of (.*)$/m.exec(stderr)?.[1] ?? '').split(', ');
}
