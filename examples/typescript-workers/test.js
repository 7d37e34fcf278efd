/**
 * Runs the programs in each way and prints what works, as a table. Besides the Node that runs this, it takes those that
 * `make test-all` installs.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify, stripVTControlCharacters } from 'node:util';

const here = import.meta.dirname;
const installed = join(here, '../../packages/pointsman/tests/runtimes/all/node_modules');
const nodes = existsSync(installed)
  ? readdirSync(installed)
      .map((name) => join(installed, name, 'bin/node'))
      .filter((path) => existsSync(path))
  : [];
const require = createRequire(import.meta.url);

const node = [
  { way: '`node --import ./tsx.js`', parameters: ['--import', './tsx.js', 'src/main.ts'] },
  { way: '`node --import tsx`', parameters: ['--import', 'tsx', 'src/main.ts'] },
  { way: 'type stripping', parameters: ['stripped/main.ts'] },
  { way: 'built by `tsc`', parameters: ['dist/main.js'] },
];
const runs = [process.execPath, ...nodes].flatMap((path) => node.map((run) => ({ ...run, path })));
const others = [
  { path: join(require.resolve('bun/package.json'), '../../.bin/bun'), parameters: [] },
  { path: join(require.resolve('deno/package.json'), '../../.bin/deno'), parameters: ['-A'] },
];
for (const { path, parameters } of others) {
  runs.push({ way: '`.ts` names', path, parameters: [...parameters, 'stripped/main.ts'] });
  runs.push({ way: '`.js` names', path, parameters: [...parameters, 'src/main.ts'] });
}

/** Type stripping, and tsx without `./tsx.js`, need hooks that all threads share. */
const shares = ([major, minor]) => major > 22 || (major === 22 && minor >= 18);
const isExpected = (runtime, version, way) =>
  runtime === 'deno'
    ? way === '`.ts` names'
    : runtime === 'bun' || needsNothing(way) || shares(version);
const needsNothing = (way) => way === '`node --import ./tsx.js`' || way === 'built by `tsc`';

const run = promisify(execFile);
const wanted = ['HELLO ANN!', 'THE ANSWER IS 42!'];

test('each way works in the runtimes for which the guide says so', async () => {
  console.log('| runtime | way | works | error |\n| --- | --- | --- | --- |');
  for (const { way, path, parameters } of runs) {
    const { stdout: answer } = await run(path, ['--version']);
    const [version] = /\d+\.\d+\.\d+/.exec(answer);
    const runtime = /bun$|deno$/.exec(path)?.[0] ?? 'node';
    const { stdout, stderr } = await run(path, parameters, { cwd: here, timeout: 60_000 }).catch(
      (error) => error,
    );
    const works = wanted.every((line) => stdout.includes(line));
    const error = works
      ? ''
      : /^.*\w*Error\b.*: .*$/m.exec(stripVTControlCharacters(stderr))?.[0].trim();
    console.log(`| ${runtime} ${version} | ${way} | ${works ? 'yes' : 'no'} | ${error} |`);
    assert.equal(works, isExpected(runtime, version.split('.').map(Number), way), stderr);
  }
});
