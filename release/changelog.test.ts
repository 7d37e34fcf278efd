import { expect, test } from 'vitest';
import { collect, nextSection, parseFragments } from './changelog.js';

const fragments = parseFragments(
  new Map([
    ['pool-nice.changed.md', 'Threads are\nnicer.\n\nMuch.\n'],
    ['b.fixed.md', 'Second.\n'],
    ['a.fixed.md', '`first` first.\n'],
  ]),
);

test('fragments are grouped by kind, in the order of their names, each an item of a list', () => {
  expect(collect('# Changelog\n\nHead.\n', fragments, '1.0.0', '2026-01-31')).toBe(`# Changelog

Head.

## 1.0.0 - 2026-01-31

### Changed

- Threads are
  nicer.

  Much.

### Fixed

- \`first\` first.
- Second.
`);
});

test('a release is inserted above the older ones, which do not change', () => {
  const older = '## 0.9.0 - 2025-01-01\n\n### Added\n\n- All.\n';
  const collected = collect(`# Changelog\n\n${older}`, fragments, '1.0.0', '2026-01-31');
  expect(collected).toMatch(/^# Changelog\n\n## 1\.0\.0 - 2026-01-31\n\n### Changed\n\n- /);
  expect(collected.endsWith(`- Second.\n\n${older}`)).toBe(true);
});

test('the text under Unreleased is released, after the fragments of its kind', () => {
  const changelog = `# Changelog

## Unreleased

The first version.

### Added

- All.

Of the crate:

- More.

### Fixed

Everything.

## 0.0.1 - 2025-01-01

Old.
`;
  const added = parseFragments(new Map([['x.added.md', 'New.']]));
  expect(collect(changelog, [...fragments, ...added], '0.1.0', '2026-01-31')).toBe(`# Changelog

## 0.1.0 - 2026-01-31

The first version.

### Added

- New.
- All.

Of the crate:

- More.

### Fixed

- \`first\` first.
- Second.

Everything.

### Changed

- Threads are
  nicer.

  Much.

## 0.0.1 - 2025-01-01

Old.
`);
});

test('without fragments and without text under Unreleased there is nothing to release', () => {
  expect(nextSection('# Changelog\n\n## 0.1.0 - 2026-01-31\n\n- All.\n', [])).toBe('');
});

test('each malformed fragment is named', () => {
  const files = ['Pool.fixed.md', 'pool.mended.md', 'pool.md', 'pool.fixed.txt', 'a_b.fixed.md'];
  const texts: [string, string][] = [
    ...files.map((name): [string, string] => [name, 'Text.']),
    ['empty.fixed.md', '\n'],
    ['list.fixed.md', '- Item.\n'],
    ['heading.fixed.md', '# Heading\n'],
  ];
  const parse = () => parseFragments(new Map(texts));
  for (const [name] of texts) expect(parse).toThrow(`changelog/${name}: expected`);
});
