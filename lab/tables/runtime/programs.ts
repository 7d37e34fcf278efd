/**
 * The programs of the cells, one for each runtime, and the pinned versions of their crates. `make lab` builds them;
 * `cells/Cargo.lock` pins them.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Budget } from '../../harness/table.js';
import { lockedVersion, rustVersion } from '../../harness/versions.js';
import { nio, pointsman, runtimes, tokio } from './subjects.js';

// From the compiled module in lab/dist/tables/runtime/.
const lab = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

function programOf(runtime: string): string {
  return lab(`.tools/cells/release/runtime-${runtime}`);
}

export const programs: readonly string[] = runtimes.map(({ name }) => programOf(name));

/** The command of a cell. A floor is part of every runtime's program. */
export function commandOf(
  runtime: string,
  form: 'published' | 'native' | 'cores' | 'floor',
  test: string,
  { warmupMilliseconds, measureMilliseconds }: Budget,
): readonly [string, ...string[]] {
  const program = programOf(form === 'floor' ? tokio.name : runtime);
  // A compiled program needs little warm-up.
  const warmUp = warmupMilliseconds / 2;
  return [program, form, test, String(warmUp), String(measureMilliseconds)];
}

export function cellVersions(): Readonly<Record<string, string>> {
  const lock = readFileSync(lab('tables/runtime/cells/Cargo.lock'), 'utf8');
  const crates = [pointsman.name, tokio.name, nio.name, 'futures'];
  return {
    ...Object.fromEntries(crates.map((name) => [name, lockedVersion(lock, name)])),
    rust: rustVersion(lab('../rust-toolchain.toml')),
  };
}
