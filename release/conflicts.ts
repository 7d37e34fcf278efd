/** Finds the markers that a merge leaves in a file. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Git writes seven of them, and a label after the first and the last. */
const marker = /^(?:<{7}|>{7}|\|{7})(?= |\r?$)/gm;

/** Returns the lines with markers. */
export function findConflicts(path: string, text: string): string[] {
  return Array.from(text.matchAll(marker), ({ 0: found, index }) => {
    const line = text.slice(0, index).split('\n').length;
    return `${path}:${line}: "${found}" of a merge conflict`;
  });
}

export async function findConflictsIn(root: string, paths: readonly string[]): Promise<string[]> {
  const files = paths.map(async (path) =>
    findConflicts(path, await readFile(join(root, path), 'latin1')),
  );
  return (await Promise.all(files)).flat();
}
