/** The further runtimes of `make test-all`, from a package of their own (`all/`) that is installed on demand. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processRuntime, type Runtime } from './runtime.js';

const folder = fileURLToPath(new URL('../all', import.meta.url));

export function install(): void {
  const changed = (file: string) =>
    statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs;
  const installed = changed('node_modules/.package-lock.json') ?? 0;
  if (installed > (changed('package-lock.json') ?? 0)) return;
  console.log('fetching the runtimes of make test-all');
  // On Windows npm is a script, which only a shell can start.
  const shell = process.platform === 'win32';
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: 'inherit', shell });
}

/** Each package has its program in a second package, which npm selected for this machine. */
function findIn(scope: string, program: string): Runtime['find'] {
  return () => {
    const root = join(folder, 'node_modules', scope);
    const packages = existsSync(root) ? readdirSync(root) : [];
    const path = packages
      .flatMap((name) => [join(root, name, program), join(root, name, `${program}.exe`)])
      .find(existsSync);
    return path ? { path } : { missing: `npm has no ${scope} for this machine` };
  };
}

function node(major: number): Runtime {
  return processRuntime(`node-${major}`, () => {
    const path = join(folder, `node_modules/node-${major}/bin/node`);
    return existsSync(path) ? { path } : { missing: 'npm has it for Linux on x64 only' };
  });
}

export const extraRuntimes: Runtime[] = [
  processRuntime('bun', findIn('@oven', 'bin/bun')),
  processRuntime('deno', findIn('@deno', 'deno'), ['run', '--no-check', '--quiet', '--allow-all']),
  node(22),
  node(24),
  node(26),
];
