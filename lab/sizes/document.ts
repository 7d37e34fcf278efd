/**
 * The sizes in a Markdown file: a table between two comments, and single figures between two others.
 *
 * Invariant: everything outside the comments stays.
 */
import type { MeasuredLine, Sized } from './measured.js';

/** The files with sizes, from the root of the repository. */
export const documents = ['README.md', 'packages/pointsman/README.md'];

const table = /(<!-- sizes -->\n)[\s\S]*?(<!-- \/sizes -->)/g;
const figure = /(<!-- size (\S+) -->)[^<]*(<!-- \/size -->)/g;

export function writeSizes(text: string, lines: readonly MeasuredLine[]): string {
  return text
    .replace(table, (_, begin, end) => `${begin}\n${tableOf(lines)}\n${end}`)
    .replace(figure, (_, begin, id, end) => {
      const line = lines.find((one) => one.id === id);
      if (!line) throw new Error(`no size has the name ${id}`);
      return `${begin}${kilobytes(line.ours)} kB${end}`;
    });
}

/** Returns the parts of the text that `writeSizes` writes. */
export function statedSizes(text: string): string[] {
  return [...text.matchAll(table), ...text.matchAll(figure)].map(([part]) => part);
}

function tableOf(lines: readonly MeasuredLine[]): string {
  const cells = lines.map(({ ours, peers }) => [
    ours.title,
    kilobytes(ours),
    peers.map((peer) => `${peer.title} ${kilobytes(peer)}`).join(', '),
  ]);
  const head = ['import', 'kB', 'narrow peers, kB'];
  const widths = head.map((_, column) =>
    Math.max(...[head, ...cells].map((row) => row[column]?.length ?? 0)),
  );
  const rule = widths.map((width, column) =>
    column === 1 ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  const pad = (cell: string, column: number) =>
    column === 1 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  const print = (row: readonly string[]) => `| ${row.map(pad).join(' | ')} |\n`;
  return [head, rule, ...cells].map(print).join('');
}

function kilobytes({ bytes }: Sized): string {
  return (bytes / 1_000).toFixed(1);
}
