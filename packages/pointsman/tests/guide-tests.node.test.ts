/** The tests in the guides pass, in the test runner that their fence names. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { compileInto, type Example, examplesOf, filesIn, root } from './guides.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const guides = filesIn(join(root, 'docs'), '.md');
const fenced = (fence: string) =>
  guides
    .flatMap((file) => examplesOf(file, fence))
    .map((example): [string, Example] => [example.name, example]);

function newFolder(): string {
  const folder = mkdtempSync(join(here, '.example-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function outputOf(...command: string[]): Promise<string> {
  const program = spawn(process.execPath, command, { env: { NO_COLOR: '1' } });
  const [output, errors] = await Promise.all([text(program.stdout), text(program.stderr)]);
  return output + errors;
}

test.each(fenced('ts vitest'))('vitest: %s', async (_, { code }) => {
  const folder = newFolder();
  writeFileSync(join(folder, 'guide.test.ts'), code);
  // Otherwise vitest finds the configuration of this repository.
  writeFileSync(join(folder, 'vitest.config.js'), 'export default {};');
  const vitest = join(
    createRequire(import.meta.url).resolve('vitest/package.json'),
    '../vitest.mjs',
  );
  const output = await outputOf(vitest, 'run', '--root', folder);
  expect(output).toMatch(/ Tests +\d+ passed \(\d+\)/);
});

test.each(fenced('ts node:test'))('node:test: %s', async (_, example) => {
  const output = await outputOf('--test', await compileInto(newFolder(), example));
  expect(output).toMatch(/ pass [1-9]\d*\n/);
  expect(output).toMatch(/ fail 0\n/);
});
