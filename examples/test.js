/**
 * Builds and tries each example, or those that are named: `node test.js vite webpack`. They get the package as it
 * would be published, from its tarball, in place of the workspace's link.
 *
 * Invariant: an example passes if the commands in its package.json do, which are those that a user types.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

const failed = [];
for (const name of named.length > 0 ? named : all) {
  const { scripts } = JSON.parse(readFileSync(join(here, name, 'package.json'), 'utf8'));
  const start = performance.now();
  const passes = ['build', 'test'].every((script) => {
    if (!(script in scripts)) return true;
    const { status, stdout } = spawnSync('npm', ['run', '--silent', script], {
      ...npm,
      cwd: join(here, name),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0) process.stdout.write(stdout);
    return status === 0;
  });
  if (!passes) failed.push(name);
  const seconds = ((performance.now() - start) / 1_000).toFixed(0);
  console.log(`${passes ? 'passed' : 'FAILED'}  ${name} (${seconds} s)`);
}
console.log(
  failed.length > 0 ? `Examples that failed: ${failed.join(', ')}.` : 'All examples passed.',
);
process.exitCode = failed.length > 0 ? 1 : 0;
