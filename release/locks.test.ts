/** The lock files of npm pin each package by its hash, and name no registry. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const paths = execFileSync('git', ['ls-files', '*package-lock.json'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n');

/**
 * Binaries for platforms other than the one on which the lock files were made. Their hashes were not available there,
 * because the registry did not have these versions yet. npm writes the hashes at the next version bump.
 */
const withoutHash: Readonly<Record<string, string>> = {
  '@cbor-extract/cbor-extract': '2.2.3',
  '@cloudflare/workerd': '1.20261117.1',
  '@deno/': '2.9.6',
  '@node-rs/bcrypt': '2.0.0',
};

interface Locked {
  readonly version?: string;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly integrity?: string;
}

test('there are lock files', () => {
  expect(paths).toContain('package-lock.json');
});

const read = (path: string) =>
  JSON.parse(readFileSync(join(root, path), 'utf8')) as { packages: Record<string, Locked> };

/** Installed packages only: folders of this repository appear as themselves and as links, and are excluded. */
const installed = paths.flatMap((path) =>
  Object.entries(read(path).packages)
    .filter(([where, { link }]) => /(^|\/)node_modules\//.test(where) && !link)
    .map(([where, locked]) => ({ path, name: where.replace(/^.*node_modules\//, ''), ...locked })),
);

const exceptionOf = (name: string) =>
  Object.keys(withoutHash).find((each) => name.startsWith(each));
const unhashed = installed.filter(({ integrity }) => !integrity?.startsWith('sha512-'));

test('each package has its hash, except the listed ones', () => {
  const unexpected = unhashed.filter(
    ({ name, version, optional }) =>
      !(optional && withoutHash[exceptionOf(name) ?? ''] === version),
  );
  expect(unexpected).toEqual([]);
});

test.each(Object.keys(withoutHash))('%s still needs its exception', (prefix) => {
  expect(unhashed.some(({ name }) => exceptionOf(name) === prefix)).toBe(true);
});

test('no package names a registry', () => {
  expect(installed.filter(({ resolved }) => resolved?.includes('://'))).toEqual([]);
});
