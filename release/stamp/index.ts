/**
 * Writes the version and the public address into each file that states one of them.
 *
 * Invariant: stamping with the current version and address changes nothing. `make check` enforces it, so no two files
 * can disagree about either.
 */
import { basename } from 'node:path';
import type { Facts } from './facts.js';
import { stampDeno, stampLock, stampManifest } from './json.js';
import { stampIssueForms, stampReadme, stampSecurity } from './pages.js';
import { stampCargoLock, stampCrate } from './toml.js';

export type { Facts } from './facts.js';

const byPath: Record<string, Stamp> = {
  'SECURITY.md': stampSecurity,
  '.github/ISSUE_TEMPLATE/config.yml': stampIssueForms,
  'packages/pointsman/README.md': stampReadme,
  'crates/pointsman/README.md': stampReadme,
  'crates/top/README.md': stampReadme,
  'crates/tokio/README.md': stampReadme,
};
const byName: Record<string, Stamp> = {
  'package.json': stampManifest,
  'package-lock.json': stampLock,
  'jsr.json': stampDeno,
  'deno.json': stampDeno,
  'Cargo.toml': stampCrate,
  'Cargo.lock': stampCargoLock,
};

type Stamp = (text: string, facts: Facts) => string;

export function stampOf(path: string): Stamp | undefined {
  return byPath[path] ?? byName[basename(path)];
}
