import { expect, test } from 'vitest';
import { findWords } from './words.js';

test.each([
  'Whoever',
  'nobody',
  'somebody',
  'someone',
  'whatever',
  'whichever',
  'mended',
  'so much',
  'so many',
  'tells of',
  'is told',
  'may be told',
  'who waits',
  'who gives up',
  'what was asked',
  'stands in',
  'in the way',
  'comes in',
  'of no use',
  'Only then does',
  'breaks down',
  'all that there is',
])('%s is found', (word) => {
  expect(findWords('a.md', `# Heading\n\nIt is ${word}.\n`)).toEqual([
    expect.stringMatching(new RegExp(`^a\\.md:3: ".*${word}"; better: `)),
  ]);
});

test('a phrase is found across the lines of a comment', () => {
  expect(findWords('a.ts', '/**\n * Those who\n * wait.\n */')).toEqual([
    expect.stringContaining('a.ts:2: "who wait"'),
  ]);
  expect(findWords('a.rs', '/// It is\n/// told.\n')).toHaveLength(1);
});

test.each([
  ['a.ts', "const x = 'http://a'; // nobody"],
  ['a.ts', "test('nobody waits', () => {});"],
  ['a.ts', 'describe.skipIf(now)(`nobody waits`, () => {});'],
  ['a.ts', 'const quote = /["]/; // nobody'],
  ['a.rs', "let quote = '\"'; // nobody"],
  ['a.rs', '#[test]\nfn nobody_waits() {}'],
  ['a.rs', '#[pointsman::test(flavor = "current_thread")]\nasync fn nobody_waits() {}'],
  ['a.lua', 'local x = 1 -- nobody'],
  ['a/b.mk', 'help: ## what nobody reads'],
  ['Makefile', 'help: ## what nobody reads'],
  ['a.yaml', 'scenarios:\n  - name: nobody waits'],
])('prose in %s: %s', (path, text) => {
  expect(findWords(path, text)).toEqual([expect.stringContaining('"nobody"')]);
});

test.each([
  ['a.ts', "const nobody = 'nobody // nobody';"],
  ['a.ts', '// `nobody` is a name'],
  ['a.rs', 'fn nobody() { let x = r#"// nobody"#; }'],
  ['a.md', 'We recommend `nobody`, amends and "stands in for".'],
  ['a.json', '{ "nobody": 1 }'],
  ['package-lock.json', '// nobody'],
  ['packages/pointsman/api/index.api.md', 'nobody'],
  ['LICENSE', 'nobody'],
])('no prose in %s: %s', (path, text) => {
  expect(findWords(path, text)).toEqual([]);
});
