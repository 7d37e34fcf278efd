import { expect, test } from 'vitest';
import { refusals, type Situation } from './refusals.js';

const ready: Situation = {
  asked: '0.2.0',
  current: '0.1.0',
  tags: ['v0.1.0', 'other'],
  branch: 'main',
  behind: false,
  changes: [],
  hasAddress: true,
  hasNews: true,
  outOfStep: [],
  missingTools: [],
};

test('a release that is ready is not refused', () => {
  expect(refusals(ready)).toEqual([]);
});

test.each([
  ['0.2.0', []],
  ['1.0.0', []],
  ['0.2.0-rc.1', []],
  ['0.1.1', []],
  ['', ['the version is missing: make release VERSION=0.2.0']],
  ['0.2', [expect.stringContaining('no version of Semantic Versioning')]],
  ['v0.2.0', [expect.stringContaining('no version of Semantic Versioning')]],
  ['0.1.0', ['the tag v0.1.0 already exists']],
  ['0.1.0-rc.1', ['VERSION=0.1.0-rc.1 must be above 0.1.0']],
  ['0.0.9', ['VERSION=0.0.9 must be above 0.1.0']],
])('VERSION=%s', (asked, reasons) => {
  expect(refusals({ ...ready, asked })).toEqual(reasons);
});

test('the first release may have the present version', () => {
  const first = { ...ready, tags: ['other'] };
  expect(refusals({ ...first, asked: '0.1.0' })).toEqual([]);
  expect(refusals({ ...first, asked: '0.0.9' })).toEqual([
    'VERSION=0.0.9 must be above 0.1.0, or equal for the first release',
  ]);
});

test.each<[Partial<Situation>, string]>([
  [{ branch: 'topic' }, 'main, not from topic'],
  [{ behind: true }, 'git pull'],
  [{ changes: [' M file'] }, 'uncommitted changes:\n     M file'],
  [{ hasAddress: false }, 'the public address is not set'],
  [{ hasNews: false }, 'nothing to release'],
  [{ outOfStep: ['Cargo.lock'] }, 'make stamp and commit (Cargo.lock)'],
  [{ missingTools: ['cargo', 'tar'] }, 'missing: cargo, tar'],
])('%j is refused', (change, reasons) => {
  expect(refusals({ ...ready, ...change })).toEqual([expect.stringContaining(reasons)]);
});

test('all reasons are reasons together', () => {
  const worst = { asked: '', changes: ['?? a'], hasAddress: false, hasNews: false, behind: true };
  expect(refusals({ ...ready, ...worst })).toHaveLength(5);
});
