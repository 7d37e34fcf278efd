/** CONTRIBUTING.md has each target of `make help`, and no page names a missing one. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const output = (program: string, ...rest: string[]) =>
  execFileSync(program, rest, { cwd: root, encoding: 'utf8' });
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const first = (matches: Iterable<RegExpMatchArray>) =>
  [...new Set(Array.from(matches, ([, verb = '']) => verb))].sort();

const makefiles = output('git', 'ls-files', 'Makefile', '*.mk')
  .trim()
  .split('\n')
  .map(read)
  .join('\n');
const targets = first(makefiles.matchAll(/^([a-z0-9-]+):/gm));
const verbs = first(
  output('make', '--silent', 'help').matchAll(/^ {2}make ([a-z0-9-]+) +[^ =]*(?: |$)/gm),
);
const named = (path: string) => first(read(path).matchAll(/`make ([a-z0-9-]+)[^`]*`/g));

test('make help lists targets', () => {
  expect(verbs).toContain('test');
});

test('CONTRIBUTING.md has them all', () => {
  expect(verbs.filter((verb) => !named('CONTRIBUTING.md').includes(verb))).toEqual([]);
});

const pages = output('git', 'ls-files', '*.md').trim().split('\n');
test.each(pages)('%s names only existing targets', (page) => {
  expect(named(page).filter((verb) => !targets.includes(verb))).toEqual([]);
});
