/** Stamps the versions and the address in cargo's files. */
import type { Facts } from './facts.js';

export function stampCrate(text: string, { version, address }: Facts): string {
  // A requirement of one of the two libraries, as a string or in an inline table, with its operator.
  let stamped = text.replace(
    /^((?:pointsman|pointsman-macros) = (?:\{[^}\n]*\bversion = )?"[=^~]?)\d[^"]*/gm,
    `$1${version}`,
  );
  if (hasTable(stamped, 'workspace.package')) {
    stamped = set(stamped, 'workspace.package', 'version', `"${version}"`);
    if (address) {
      stamped = set(stamped, 'workspace.package', 'homepage', `"${address.page}"`);
      stamped = set(stamped, 'workspace.package', 'repository', `"${address.page}"`);
    }
  }
  const isPublished = /^version\.workspace = true$/m.test(text) && !/^publish = false$/m.test(text);
  if (address && isPublished) {
    stamped = set(stamped, 'package', 'homepage.workspace', 'true');
    stamped = set(stamped, 'package', 'repository.workspace', 'true');
  }
  return stamped;
}

/** Stamps the crates of this repository, which have no source. */
export function stampCargoLock(text: string, { version }: Facts): string {
  return text.replace(
    /^(name = "pointsman(?:-macros|-top)?"\nversion = ")[^"]*"\n(?!source)/gm,
    `$1${version}"\n`,
  );
}

function hasTable(text: string, table: string): boolean {
  return text.split('\n').includes(`[${table}]`);
}

/** Sets the line of a key, or inserts it after the licence's. */
function set(text: string, table: string, key: string, value: string): string {
  const lines = text.split('\n');
  const begin = lines.indexOf(`[${table}]`) + 1;
  const next = lines.findIndex((line, index) => index >= begin && line.startsWith('['));
  const end = next < 0 ? lines.length : next;
  const find = (start: string) =>
    lines.findIndex((line, index) => index >= begin && index < end && line.startsWith(start));
  const present = find(`${key} = `);
  if (present >= 0) lines[present] = `${key} = ${value}`;
  else lines.splice(find('license') + 1 || begin, 0, `${key} = ${value}`);
  return lines.join('\n');
}
