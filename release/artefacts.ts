/**
 * Packs the package and the crates in a clone.
 *
 * Invariant: each is packed twice, and a difference is an error, so the registries get the bytes that were checked.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.js';

export interface Artefact {
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** In cargo's order: each after its dependencies. */
export const crates = ['pointsman-macros', 'pointsman', 'pointsman-top'] as const;

type Report = (line: string) => void;

export function packPackage(clone: string, folder: string, onLine: Report): Promise<Artefact[]> {
  return packTwice(folder, async (destination) => {
    const cwd = join(clone, 'packages/pointsman');
    await run('npm', ['pack', '--pack-destination', destination], { cwd, onLine });
    return destination;
  });
}

/** The first round compiles each packed crate, with the packed crate that it depends on. */
export function packCrates(clone: string, folder: string, onLine: Report): Promise<Artefact[]> {
  return packTwice(folder, async (target, round) => {
    await run(
      'cargo',
      [
        ...['package', '--locked', '--target-dir', target],
        ...crates.flatMap((crate) => ['--package', crate]),
        ...(round === 1 ? [] : ['--no-verify']),
      ],
      { cwd: clone, onLine },
    );
    return join(target, 'package');
  });
}

/** `pack` packs into a folder and returns the folder of the packed files. */
async function packTwice(
  folder: string,
  pack: (destination: string, round: 1 | 2) => Promise<string>,
): Promise<Artefact[]> {
  const rounds: Artefact[][] = [];
  for (const round of [1, 2] as const) {
    const destination = join(folder, String(round));
    await mkdir(destination, { recursive: true });
    rounds.push(await artefactsIn(await pack(destination, round)));
  }
  const [first = [], second = []] = rounds;
  const sums = (artefacts: Artefact[]) => artefacts.map(({ name, sha256 }) => `${sha256}  ${name}`);
  if (first.length === 0 || String(sums(first)) !== String(sums(second))) {
    throw new Error(
      `Packing twice gave different files:\n${[...sums(first), 'and then', ...sums(second)].join('\n')}`,
    );
  }
  return first;
}

async function artefactsIn(folder: string): Promise<Artefact[]> {
  const names = (await readdir(folder)).filter((name) => /\.(tgz|crate)$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const content = await readFile(path);
      const sha256 = createHash('sha256').update(content).digest('hex');
      return { path, name, bytes: content.length, sha256 };
    }),
  );
}
