/**
 * Versions of npm packages as they are installed, each read from its own package.json.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of an installed package, found as Node finds it: upwards from `from`. */
export function packageFolder(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (versionIn(candidate) !== undefined) return candidate;
    if (folder === dirname(folder)) return undefined;
  }
}

export function installedVersion(name: string, from: string): string {
  const folder = packageFolder(name, from);
  if (folder === undefined) throw new Error(`package ${name}: expected it installed near ${from}`);
  return versionIn(folder) ?? '';
}

function versionIn(folder: string): string | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}
