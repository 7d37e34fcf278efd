/**
 * The programs of the cells, and the pinned versions of their crates. `make lab` builds them; the Cargo.lock files
 * below `cells` pin them.
 *
 * Invariant: all subjects get the same load, whose process is the cell's.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findServer } from '../../harness/redis-server.js';
import { lockedVersion, rustVersion } from '../../harness/versions.js';
import { byHand, monoio, pointsman, tokio } from './subjects.js';

// From the compiled module in lab/dist/tables/net/.
const lab = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

export const load = lab('.tools/net/release/net-load');

const programOf: Readonly<Record<string, string>> = {
  // One build cannot have two crates named `tokio`.
  [pointsman.name]: lab('.tools/net-pointsman/release/net-pointsman'),
  [tokio.name]: lab('.tools/net/release/net-tokio'),
  [monoio.name]: lab('.tools/net/release/net-monoio'),
  [byHand.name]: lab('.tools/net/release/net-floor'),
};

export const programs: readonly string[] = [load, ...Object.values(programOf)];

export function programNamed(subject: string): string {
  const program = programOf[subject];
  if (program === undefined) throw new Error(`subject ${subject} has no program`);
  return program;
}

export function cellVersions(): Readonly<Record<string, string>> {
  const versions = (lock: string, names: readonly string[]) => {
    const text = readFileSync(lab(`tables/net/cells/${lock}`), 'utf8');
    return Object.fromEntries(names.map((name) => [name, lockedVersion(text, name)]));
  };
  const frameworks = ['axum', 'hyper', 'redis', 'tokio-rustls', 'tower-http'];
  const crates = [tokio.name, monoio.name, ...frameworks, 'hdrhistogram'];
  return {
    ...versions('Cargo.lock', crates),
    ...versions('pointsman/Cargo.lock', [pointsman.name]),
    rust: rustVersion(lab('../rust-toolchain.toml')),
    'Redis server': redisVersion() ?? 'not here',
  };
}

export function redisVersion(): string | undefined {
  try {
    const { program, version } = findServer();
    return `${program} ${version}`;
  } catch {
    return undefined;
  }
}
