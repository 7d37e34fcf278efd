/**
 * Finds words that have a plainer one, in prose only: Markdown, YAML, comments and test names.
 *
 * Invariant: `prose` keeps the length and the lines of its text, so an index in one is an index in the other.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const list: readonly (readonly [words: string, better: string])[] = [
  ["whoever(?:'s)?", 'name the subject: the waiter, the caller, the worker'],
  ['nobody', 'no waiter, no caller, nothing'],
  ['somebody|someone', 'name the subject: a waiter, a caller, a thread'],
  ['whatever|whichever', 'any, all, or the thing itself'],
  ['mend(?:s|ed|ing)?', 'fix'],
  ['so much|so many', 'the amount, the number, "up to n"'],
  [
    'tells? of|told of|(?:is|are|was|were|may be|be|been|being) told',
    'report, receive, notify; "Options for ..."',
  ],
  ['who (?:waits?|holds?|comes?|asks?|gives? up)', 'the waiter, the holder, the caller'],
  ['what is light|what was asked', 'the cheap call, the request'],
  ['stands? in(?! for)|stood in(?! for)', 'is in, replaces'],
  ['(?:is|are|be|was|were|stands?|stood) in the way', 'blocks'],
  ['comes? in|came in', 'arrives, is admitted'],
  ['of no use', 'has no effect'],
  ['only then (?:do|does|did|is|are|was|were|can|may|will)', 'subject first, "then" last'],
  ['breaks? down|broke down', 'fails'],
  ['all that there (?:is|are|was|were)', 'all, everything'],
];

const words = list.map(([pattern, better]) => ({
  pattern: new RegExp(String.raw`\b(?:${pattern.replaceAll(' ', String.raw`\s+`)})\b`, 'gi'),
  better,
}));

// Each grammar matches prose, and strings and the like in which prose could seem to begin.
const grammar = (...parts: string[]) => new RegExp(parts.join('|'), 'g');
const double = String.raw`"(?:\\[^]|[^"\\\n])*"`;
const single = String.raw`'(?:\\[^]|[^'\\\n])*'`;
const template = String.raw`\x60(?:\\[^]|[^\x60\\])*\x60`;
const slashes = String.raw`\/\/.*|\/\*[^]*?\*\/`;
const everything = grammar('(?<prose>[^]+)');
const hash = grammar(String.raw`(?<prose>(?<=^|\s)#.*)`, double, single);
const script = grammar(
  // The strings: test('name', ...), test.skipIf(condition)('name', ...), describe('name', ...).
  String.raw`(?<prose>${slashes}|(?<=\b(?:test|it|describe)(?:\.\w+)*\(\s*|\)\()(?:${double}|${single}|${template}))`,
  `${double}|${single}|${template}`,
  String.raw`(?<=[=(,:!&|?]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/`,
);
const rust = grammar(
  String.raw`(?<prose>${slashes}|(?<=\[(?:\w+::)?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn )\w+)`,
  String.raw`r(?<hashes>#*)"[^]*?"\k<hashes>|"(?:\\[^]|[^"\\])*"|'(?:\\[^']+|\\'|[^'\\])'`,
);
const grammars: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(['ts', 'tsx', 'js', 'mjs', 'cjs', 'c', 'css'].map((end) => [end, script])),
  ...Object.fromEntries(['toml', 'mk', 'rb', 'run', 'Makefile'].map((end) => [end, hash])),
  ...Object.fromEntries(['md', 'html', 'yaml', 'yml'].map((end) => [end, everything])),
  rs: rust,
  lua: grammar('(?<prose>--.*)', double, single),
};
/** A program writes these from the doc comments. */
const generated = /^packages\/pointsman\/api\//;

const blank = (text: string, mark: string) => text.replace(/[^\n]/g, mark);

/** The text with NUL for all that is no prose, and spaces for markers of comments. */
function prose(path: string, text: string): string {
  const language = grammars[path.split(/[./]/).at(-1) as string];
  if (!language || generated.test(path)) return '';
  let kept = '';
  for (const { 0: found, index, groups } of text.matchAll(language)) {
    kept += blank(text.slice(kept.length, index), '\0');
    kept += groups?.prose === undefined ? blank(found, '\0') : withoutMarkers(found);
  }
  return kept;
}

function withoutMarkers(found: string): string {
  return found
    .replace(/(?!^)`[^`\n]*`/g, (code) => blank(code, '\0'))
    .replace(/^\s*(?:\/\/[/!]?|\/?\*+|#+!?|--|>)/gm, (marker) => blank(marker, ' '))
    .replaceAll('_', ' ');
}

export function findWords(path: string, text: string): string[] {
  const searched = prose(path, text);
  const hits = words.flatMap(({ pattern, better }) =>
    Array.from(searched.matchAll(pattern), ({ 0: found, index }) => ({ index, found, better })),
  );
  return hits
    .sort((a, b) => a.index - b.index)
    .map(({ index, found, better }) => {
      const line = searched.slice(0, index).split('\n').length;
      return `${path}:${line}: "${found.replace(/\s+/g, ' ')}"; better: ${better}`;
    });
}

export async function findWordsIn(root: string, paths: readonly string[]): Promise<string[]> {
  const files = paths.map(async (path) =>
    findWords(path, await readFile(join(root, path), 'utf8')),
  );
  return (await Promise.all(files)).flat();
}
