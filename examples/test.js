/**
 * Builds and tests all examples, or the named ones: `node test.js vite webpack`. They use the package's tarball instead
 * of the workspace's link.
 *
 * Invariant: an example passes if the commands in its package.json pass, which a user types too.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from './command.js';

const here = import.meta.dirname;
const npm = { cwd: here, encoding: 'utf8' };

const folder = mkdtempSync(join(tmpdir(), 'pointsman-'));
try {
  const packed = ['pack', '../packages/pointsman', '--ignore-scripts', '--silent'];
  const tarball = execFileSync('npm', [...packed, '--pack-destination', folder], npm).trim();
  const place = join(here, 'node_modules/pointsman');
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  execFileSync('tar', ['xzf', join(folder, tarball), '-C', place, '--strip-components=1']);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const isExample = (name) => existsSync(join(here, name, 'package.json'));
const named = process.argv.slice(2);
const unknown = named.find((name) => !isExample(name));
if (unknown !== undefined) throw new Error(`There is no example ${unknown} in ${here}`);
const all = readdirSync(here).filter((name) => name !== 'node_modules' && isExample(name));

/** Milliseconds for one command. A command fails if it, or a process that it has started, hangs. */
const limit = 180_000;

/** Returns why a script of the example fails, or undefined. */
async function failureOf(name, script) {
  const command = new Command(`npm run --silent ${script}`, { cwd: join(here, name) });
  let forced = false;
  const timer = setTimeout(() => {
    forced = true;
    command.end();
  }, limit);
  const status = await command.closed;
  clearTimeout(timer);
  if (forced || status !== 0) {
    const ended = forced ? `by force after ${limit / 1_000} s` : `with status ${status}`;
    return `npm run ${script} has ended ${ended}\n${command.output}`;
  }
  // Only builds: a test may provoke warnings on purpose.
  if (script === 'build' && command.warning) return `npm run ${script} warns: ${command.warning}`;
}

const table = readFileSync(join(here, 'README.md'), 'utf8').split('\n');

/** Returns the mistake in the commands of the README's table, or undefined. */
function fault(name, scripts) {
  const row = table.find((line) => line.startsWith(`| [${name}](`));
  if (row === undefined) return `README.md does not name ${name}`;
  // A copied folder has no build output.
  if ('build' in scripts && /npm start/.test(row) && !/npm run build.*npm start/.test(row)) {
    return `README.md has ${name} started before it is built`;
  }
}

const failed = [];
for (const name of named.length > 0 ? named : all) {
  const { scripts } = JSON.parse(readFileSync(join(here, name, 'package.json'), 'utf8'));
  const start = performance.now();
  let failure = fault(name, scripts);
  for (const script of ['build', 'test']) {
    if (script in scripts) failure ??= await failureOf(name, script);
  }
  if (failure !== undefined) {
    console.log(failure);
    failed.push(name);
  }
  const seconds = ((performance.now() - start) / 1_000).toFixed(0);
  console.log(`${failure === undefined ? 'passed' : 'FAILED'}  ${name} (${seconds} s)`);
}
console.log(
  failed.length > 0 ? `Examples that failed: ${failed.join(', ')}.` : 'All examples passed.',
);
process.exitCode = failed.length > 0 ? 1 : 0;
