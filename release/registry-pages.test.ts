/** The READMEs of the published packages, which npm, JSR and crates.io show without the other files. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAddress } from './address.js';
import { stampOf } from './stamp/index.js';

const root = join(import.meta.dirname, '..');
const address = parseAddress('https://host.example/owner/name');
const pages = ['packages/pointsman', 'crates/pointsman', 'crates/macros', 'crates/top'].map(
  (folder) => `${folder}/README.md`,
);
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const linksIn = (text: string) =>
  [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/\]\(([^)\s]+)/g)].map(([, to = '']) => to);

test.each(pages)('%s has absolute links only', (page) => {
  const text = read(page);
  const published = stampOf(page)?.(text, { version: '1.0.0', address }) ?? text;
  expect(linksIn(published).filter((to) => !/^(https:|#)/.test(to))).toEqual([]);
});

test.each(pages)('%s names guides that exist', (page) => {
  const named = [...read(page).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([path]) => path);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the README of the npm package links its guides', () => {
  const path = 'packages/pointsman/README.md';
  const published = stampOf(path)?.(read(path), { version: '1.0.0', address }) ?? '';
  expect(linksIn(published)).toContain('https://host.example/owner/name/blob/main/docs/pool.md');
});
