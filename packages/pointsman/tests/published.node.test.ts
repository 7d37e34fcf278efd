/**
 * The package that npm publishes: within its size budget, without dependencies and install scripts, and with the very
 * files that the tests run on.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };

/** Budgets: bytes of the tarball, and the files in it. */
const sizeBudget = 243_100;
const filesBudget = 154;

const here = fileURLToPath(new URL('..', import.meta.url));
const root = join(here, '../..');
const run = promisify(execFile);

interface Packed {
  readonly size: number;
  readonly shasum: string;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** What npm would publish from a folder: as it is, or after a build. */
async function pack(folder: string, ...options: string[]): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', ...options], { cwd: folder });
  // The output of the build comes first.
  return JSON.parse(stdout.slice(stdout.search(/^\[/m)))[0];
}

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'pointsman-published-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A clone of the repository with dependencies installed and nothing built. */
function clone(): string {
  const folder = temporaryFolder();
  const made = ['declarations', 'dist', 'jsr', 'scripts.ts', 'tests'];
  cpSync(here, join(folder, 'packages/pointsman'), {
    recursive: true,
    filter: (path) => !made.includes(basename(path)) && !path.endsWith('.tsbuildinfo'),
  });
  cpSync(join(root, 'tsconfig.base.json'), join(folder, 'tsconfig.base.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'packages/pointsman');
}

test(`the tarball takes at most ${sizeBudget} bytes, in at most ${filesBudget} files`, async () => {
  const { size, files } = await pack(here, '--ignore-scripts');
  console.log(`${size} B of ${sizeBudget} B, ${files.length} files of ${filesBudget}`);
  expect(size).toBeLessThanOrEqual(sizeBudget);
  expect(files.length).toBeLessThanOrEqual(filesBudget);
  const others = files
    .map(({ path }) => path)
    .filter((path) => !/^dist\/.*\.(js|d\.ts)$/.test(path));
  expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json']);
});

test('a clone publishes the files that the tests run on, reproducibly', {
  timeout: 120_000,
}, async () => {
  const folder = clone();
  const first = await pack(folder);
  const second = await pack(folder);
  expect(second.shasum).toBe(first.shasum);
  const built = await pack(here, '--ignore-scripts');
  expect(built.files).toEqual(first.files);
  // A difference means that `npm run build` has not run since the last change.
  expect(built.shasum).toBe(first.shasum);
});

describe('installing the package', () => {
  test('installs nothing else', () => {
    const kinds = [
      'dependencies',
      'optionalDependencies',
      'peerDependencies',
      'bundleDependencies',
      'bundledDependencies',
    ];
    for (const kind of kinds) expect(manifest).not.toHaveProperty(kind);
  });

  test('runs nothing', () => {
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare']) {
      expect(manifest.scripts).not.toHaveProperty(script);
    }
  });
});

test.runIf('require_module' in process.features)('CommonJS can require each entry', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(here, join(folder, 'node_modules/pointsman'));
  const entries = Object.keys(manifest.exports).map((name) => join('pointsman', name));
  const program = `
    const entries = ${JSON.stringify(entries)}.map((name) => require(name));
    console.log(JSON.stringify(entries.map((entry) => Object.keys(entry).length > 0)));
    console.log(require('pointsman').ClosedError === require('pointsman/pool').ClosedError);
  `;
  writeFileSync(join(folder, 'program.cjs'), program);
  const { stdout } = await run(process.execPath, [join(folder, 'program.cjs')]);
  expect(stdout).toBe(`${JSON.stringify(entries.map(() => true))}\ntrue\n`);
});
