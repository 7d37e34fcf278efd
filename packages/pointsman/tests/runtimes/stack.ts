/** Maps stack traces of a bundle to the source files. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** Returns a function that maps the stack frames in a text, and removes those of the test machinery. */
export function explainer(bundle: string): (text: string) => string {
  const map = new SourceMap(JSON.parse(readFileSync(`${bundle}.map`, 'utf8')));
  const explainFrame = (line: string): string | undefined => {
    const [, row, column] = /^\s+at .*?:(\d+):(\d+)\)?$/.exec(line) ?? [];
    if (row === undefined) return line;
    // Stacks count from 1, source maps from 0.
    const entry = map.findEntry(Number(row) - 1, Number(column) - 1);
    if (!('originalSource' in entry)) return undefined;
    const source = relative(process.cwd(), resolve(dirname(bundle), entry.originalSource));
    if (source.includes('node_modules')) return undefined;
    return `    at ${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  };
  return (text) => {
    const plain = process.stdout.isTTY ? text : stripVTControlCharacters(text);
    return plain
      .split('\n')
      .map(explainFrame)
      .filter((line) => line !== undefined)
      .join('\n');
  };
}
