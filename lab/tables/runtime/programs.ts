/**
 * The programs of the cells, one for each runtime, and the pinned versions of their crates. `make lab` builds them;
 * `cells/Cargo.lock` pins them.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Condition } from '../../harness/condition.js';
import type { NativeCell } from '../../harness/table.js';
import { lockedVersion, rustVersion } from '../../harness/versions.js';
import { nio, plain, pointsman, runtimes, tokio } from './subjects.js';

// From the compiled module in lab/dist/tables/runtime/.
const lab = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

export function programOf(runtime: string): string {
  return lab(`.tools/cells/release/runtime-${runtime}`);
}

export const programs: readonly string[] = [...runtimes, plain].map(({ name }) => programOf(name));

/** The work of a floor. */
export interface Floor {
  readonly subject: string;
  readonly test: string;
}

/** Returns the subjects and the command of a cell. A floor is part of every runtime's program. */
export function cellOf(
  form: 'published' | 'native',
  test: string,
  floor?: Floor,
  condition: Condition = 'quiet',
): Pick<NativeCell, 'subjects' | 'command' | 'limitMilliseconds'> {
  return {
    subjects: [...runtimes.map(({ name }) => name), ...(floor ? [floor.subject] : [])],
    // The longest turn takes a second, so a program without an answer after this time hangs.
    limitMilliseconds: 10_000,
    command: (subject) =>
      subject === floor?.subject
        ? [programOf(tokio.name), 'floor', floor.test, condition]
        : [programOf(subject), form, test, condition],
  };
}

export function cellVersions(): Readonly<Record<string, string>> {
  const lock = readFileSync(lab('tables/runtime/cells/Cargo.lock'), 'utf8');
  const crates = [pointsman.name, tokio.name, nio.name, 'futures'];
  return {
    ...Object.fromEntries(crates.map((name) => [name, lockedVersion(lock, name)])),
    rust: rustVersion(lab('../rust-toolchain.toml')),
  };
}
