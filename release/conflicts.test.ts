import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findConflicts, findConflictsIn } from './conflicts.js';

const seven = (mark: string) => mark.repeat(7);
const conflict = `a\n${seven('<')} HEAD\nb\n${seven('=')}\nc\n${seven('>')} other\nd\n`;

test('the markers of a conflict are found, with their lines', () => {
  expect(findConflicts('a.ts', conflict)).toEqual([
    `a.ts:2: "${seven('<')}" of a merge conflict`,
    `a.ts:6: "${seven('>')}" of a merge conflict`,
  ]);
});

test.each([[`${seven('>')}`], [`${seven('|')} base\r\n`], [`${seven('<')}\r\n`]])(
  'one marker is enough: %j',
  (text) => {
    expect(findConflicts('a', text)).toHaveLength(1);
  },
);

test.each([
  [`Heading\n${seven('=')}\n`],
  [` ${seven('<')} HEAD\n`],
  [`x ${seven('<')} HEAD\n`],
  [`${seven('<')}< eight\n`],
  [`${'<'.repeat(6)} six\n`],
  [`${seven('<')}HEAD\n`],
])('no marker: %j', (text) => {
  expect(findConflicts('a', text)).toEqual([]);
});

test('files of any kind are searched, also those that are no text', async () => {
  const root = await mkdtemp(join(tmpdir(), 'release-'));
  onTestFinished(() => rm(root, { recursive: true }));
  await writeFile(join(root, 'Makefile'), conflict);
  await writeFile(join(root, 'image.png'), Buffer.from([0x89, 0xff, 0x0a, 0x3c, 0x00]));
  expect(await findConflictsIn(root, ['Makefile', 'image.png'])).toHaveLength(2);
});
