/** `make help`; CONTRIBUTING.md has each of its targets, and no page names a missing one. */
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
const verbsIn = (help: string) =>
  first(help.matchAll(/^ {2}make ([a-z0-9-]+) +[^ =]*(?: |$)/gm)).filter((verb) => verb !== 'help');
const main = output('make', '--silent', 'help');
const all = output('make', '--silent', 'help', 'ALL=1');
const verbs = verbsIn(all);
const named = (path: string) => first(read(path).matchAll(/`make ([a-z0-9-]+)[^`]*`/g));

test('make help lists the ten main targets, and ALL=1 each that has a description', () => {
  expect(verbsIn(main)).toHaveLength(10);
  expect(verbs).toEqual(expect.arrayContaining(verbsIn(main)));
  const described = first(makefiles.matchAll(/^([a-z0-9-]+):.*## /gm));
  expect(verbs).toEqual(described.filter((verb) => verb !== 'help'));
});

test.each([
  ['make help', main],
  ['make help ALL=1', all],
])('%s fits in 80 columns', (_, help) => {
  expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test('CONTRIBUTING.md has them all', () => {
  expect(verbs.filter((verb) => !named('CONTRIBUTING.md').includes(verb))).toEqual([]);
});

const pages = output('git', 'ls-files', '*.md').trim().split('\n');
test.each(pages)('%s names only existing targets', (page) => {
  expect(named(page).filter((verb) => !targets.includes(verb))).toEqual([]);
});
