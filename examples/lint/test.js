/** The comments of `mistakes.txt` name all that the tools report, line by line. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

const here = import.meta.dirname;
const text = readFileSync(join(here, 'src/mistakes.txt'), 'utf8');
// A file of TypeScript only during the test: it does not compile.
const file = join(here, 'src/mistakes.ts');

/** Returns all output of a command that may fail. */
async function run(command) {
  const options = { cwd: here, shell: true };
  const ended = await promisify(execFile)(`npx --no-install ${command}`, options).catch(
    (error) => error,
  );
  return ended.stdout + ended.stderr;
}
const named = (tool) =>
  text
    .split('\n')
    .flatMap((line, index) =>
      [...line.replace(/.*\/\/ /, '').matchAll(new RegExp(`\\b${tool} ([\\w-]+)`, 'g'))].map(
        ([, rule]) => `${index + 1} ${rule}`,
      ),
    );

before(() => {
  writeFileSync(file, text);
});

after(() => {
  rmSync(file);
});

test('TypeScript', async () => {
  const output = await run('tsc --pretty false');
  const found = [...output.matchAll(/\((\d+),\d+\): error (TS\d+)/g)];
  assert.deepEqual(
    found.map(([, line, rule]) => `${line} ${rule}`),
    named('tsc'),
  );
});

test('ESLint', async () => {
  const [{ messages }] = JSON.parse(await run('eslint --format json src/mistakes.ts'));
  assert.deepEqual(
    messages.map(({ line, ruleId }) => `${line} ${ruleId.replace('@typescript-eslint/', '')}`),
    named('eslint'),
  );
});

test('Biome', async () => {
  const output = await run(
    'biome lint --config-path=lint.json --max-diagnostics=50 src/mistakes.ts',
  );
  const found = [...output.matchAll(/mistakes\.ts:(\d+):\d+ lint\/\w+\/(\w+)/g)];
  assert.deepEqual(found.map(([, line, rule]) => `${line} ${rule}`).sort(), named('biome').sort());
});
