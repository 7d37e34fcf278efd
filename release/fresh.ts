/**
 * Uses the packed files as a new user does: in new folders, with the commands of the guides.
 *
 * Invariant: only the artefacts and the programs in `fresh/` come from the repository.
 */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Artefact } from './artefacts.js';
import { run } from './run.js';

const programs = fileURLToPath(new URL('../fresh', import.meta.url));

type Report = (line: string) => void;

export async function tryPackage(
  { path }: Artefact,
  folder: string,
  typescript: { readonly version: string; readonly nodeTypes: string },
  onLine: Report,
): Promise<void> {
  await cp(join(programs, 'npm'), folder, { recursive: true });
  const step = (command: string, ...parameters: string[]) =>
    run(command, parameters, { cwd: folder, onLine });
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  await step('npm', 'install', '--no-audit', '--no-fund', path);
  const lock = await readFile(join(folder, 'package-lock.json'), 'utf8');
  refuseCompany(lock);
  refuseScripts(await readFile(join(folder, 'node_modules/pointsman/package.json'), 'utf8'));
  await step('node', 'imports.mjs');
  await step('node', 'requires.cjs');
  const { version, nodeTypes } = typescript;
  const compilers = [`typescript@${version}`, `@types/node@${nodeTypes}`];
  await step('npm', 'install', '--no-audit', '--no-fund', ...compilers);
  for (const resolution of ['nodenext', 'bundler']) {
    await step('npx', '--no-install', 'tsc', '--project', `tsconfig.${resolution}.json`);
  }
}

/** `lock` is the lock file of a project that has installed only the package. */
export function refuseCompany(lock: string): void {
  const { packages } = JSON.parse(lock) as { packages: Record<string, unknown> };
  const company = Object.keys(packages).filter(
    (path) => path !== '' && path !== 'node_modules/pointsman',
  );
  if (company.length > 0) throw new Error(`The package has dependencies: ${company.join(', ')}`);
}

/** Throws if npm would run a script of the package when it is installed. */
export function refuseScripts(manifest: string): void {
  const { scripts = {} } = JSON.parse(manifest) as { scripts?: Record<string, string> };
  const run = ['preinstall', 'install', 'postinstall'].filter((script) => script in scripts);
  if (run.length > 0) throw new Error(`The package has install scripts: ${run.join(', ')}`);
}

export async function tryCrates(
  packed: readonly Artefact[],
  folder: string,
  onLine: Report,
): Promise<void> {
  await cp(join(programs, 'cargo'), join(folder, 'src'), { recursive: true });
  const lines = ['[package]', 'name = "fresh"', 'edition = "2024"', '', '[dependencies]'];
  const patches = ['', '[patch.crates-io]'];
  const target = join(folder, 'target');
  for (const { path, name } of packed) {
    await run('tar', ['xzf', path, '-C', folder], { cwd: folder });
    const [, crate, version] = /^(.+?)-(\d.*)\.crate$/.exec(name) as RegExpExecArray;
    if (crate === 'pointsman') {
      lines.push(`pointsman = { version = "=${version}", features = ["full"] }`);
    }
    if (crate === 'pointsman-top') {
      // `--locked`, as its README says: with the versions that were tested.
      const install = ['install', '--locked', '--path', `${crate}-${version}`, '--root', folder];
      await run('cargo', [...install, '--target-dir', target], { cwd: folder, onLine });
      await run(join(folder, 'bin', crate), ['--version'], { cwd: folder });
      continue;
    }
    patches.push(`${crate} = { path = "${crate}-${version}" }`);
  }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'Cargo.toml'), `${[...lines, ...patches].join('\n')}\n`);
  const printed = await run('cargo', ['run', '--target-dir', target], { cwd: folder, onLine });
  if (!printed.includes('6\n')) throw new Error(`Expected the program to print 6, not ${printed}`);
}
