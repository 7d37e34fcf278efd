/**
 * The installed versions of npm packages, and the locked versions of crates.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the folder of an installed package, searched upwards from `from` as Node does. */
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

/** Returns the version of a crate in a `Cargo.lock`. */
export function lockedVersion(lock: string, name: string): string {
  const version = lock.match(new RegExp(`^name = "${name}"\nversion = "(.+)"$`, 'm'))?.[1];
  if (version === undefined) throw new Error(`Cargo.lock: expected the crate ${name}`);
  return version;
}

/** Returns the version in a `rust-toolchain.toml`. */
export function rustVersion(path: string): string {
  return readFileSync(path, 'utf8').match(/^channel = "(.+)"$/m)?.[1] ?? '';
}
