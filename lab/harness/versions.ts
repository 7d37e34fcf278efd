/**
 * Versions of npm packages as they are installed, each read from its own package.json, and of crates as
 * they are locked.
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

/** Of a crate in the text of a `Cargo.lock`. */
export function lockedVersion(lock: string, name: string): string {
  const version = lock.match(new RegExp(`^name = "${name}"\nversion = "(.+)"$`, 'm'))?.[1];
  if (version === undefined) throw new Error(`Cargo.lock: expected the crate ${name}`);
  return version;
}

/** That a `rust-toolchain.toml` names. */
export function rustVersion(path: string): string {
  return readFileSync(path, 'utf8').match(/^channel = "(.+)"$/m)?.[1] ?? '';
}
