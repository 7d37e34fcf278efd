/**
 * Makes a release, or packs one again, in a clone in a temporary folder.
 *
 * Invariant: only the last step changes the repository: it fetches the commit and its tag, and only if the repository
 * is as it was at the beginning. A failure before that changes neither the repository nor its work tree.
 */
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Listr, type ListrTask } from 'listr2';
import { type Artefact, packCrates, packPackage } from './artefacts.js';
import { collect, nextSection } from './changelog.js';
import { tryCrates, tryPackage } from './fresh.js';
import { readState, type State, stampedFiles } from './repository.js';
import { run } from './run.js';

export interface Release {
  readonly root: string;
  readonly version: string;
  /** In the changelog's form: 2026-01-31. */
  readonly date: string;
  /** Whether the tests have passed already. */
  readonly tested: boolean;
}

interface Context {
  readonly artefacts: Artefact[];
}

type Work = (context: Context, onLine: (line: string) => void) => Promise<string | undefined>;

export async function makeRelease(release: Release): Promise<void> {
  const { root, version, tested } = release;
  const base = (await run('git', ['rev-parse', 'HEAD'], { cwd: root })).trim();
  await inTemporaryFolder(outOf(release), (temporary) => {
    const clone = join(temporary, 'source');
    return [
      step('A fresh clone', async () => {
        await run('git', ['clone', '--quiet', root, clone], { cwd: temporary });
        await takeIdentity(root, clone);
        return base.slice(0, 12);
      }),
      step('Versions, address and changelog', async () => {
        const paths = await writeRelease(clone, release);
        return paths.length > 3 ? `${paths.length} files` : paths.join(', ');
      }),
      ...installing(clone),
      tested
        ? step('make test', async () => 'skipped: TESTED=1')
        : step('make test, which takes a while', async (_, onLine) => {
            await run('make', ['test'], { cwd: clone, onLine });
            return undefined;
          }),
      ...packing(clone, temporary),
      step('The commit, its tag and the artefacts', async ({ artefacts }) => {
        await keepArtefacts(artefacts, clone, outOf(release), version);
        await bringBack(release, clone, base);
        return undefined;
      }),
    ];
  });
}

/** Throws unless the work tree is exactly the commit of the version's tag: the registries would get other bytes. */
export async function checkTag(root: string, version: string): Promise<void> {
  const git = async (...parameters: string[]) =>
    (await run('git', parameters, { cwd: root })).trim();
  const tags = (await git('tag', '--points-at', 'HEAD')).split('\n');
  if (!tags.includes(`v${version}`)) {
    throw new Error(`HEAD does not have the tag v${version}, which the manifest's version needs.`);
  }
  if ((await git('status', '--porcelain')) !== '') {
    throw new Error('The work tree has uncommitted changes.');
  }
}

/** Packs the commit of an existing tag again, as the release did, with the same checks. */
export async function packTag(release: Pick<Release, 'root' | 'version'>): Promise<void> {
  const { root, version } = release;
  await inTemporaryFolder(outOf(release), (temporary) => {
    const clone = join(temporary, 'source');
    return [
      step('A fresh clone', async () => {
        const tag = `v${version}`;
        await run('git', ['clone', '--quiet', '--branch', tag, root, clone], { cwd: temporary });
        return tag;
      }),
      ...installing(clone),
      ...packing(clone, temporary),
      step('The artefacts', async ({ artefacts }) => {
        await keepArtefacts(artefacts, clone, outOf(release), version);
        return undefined;
      }),
    ];
  });
}

const outOf = ({ root, version }: Pick<Release, 'root' | 'version'>) =>
  join(root, 'release/out', version);

/** Runs the steps in a folder that is removed at the end. A failure removes `out` too. */
async function inTemporaryFolder(
  out: string,
  steps: (temporary: string) => ListrTask<Context>[],
): Promise<void> {
  const temporary = await mkdtemp(join(tmpdir(), 'pointsman-release-'));
  const clear = () => removeFolder(temporary);
  // Ctrl-C would end the process without its `finally` blocks. Running programs receive it too.
  const interrupt = () => {
    clear();
    process.exit(130);
  };
  process.once('SIGINT', interrupt);
  try {
    await new Listr(steps(temporary), {
      registerSignalListeners: false,
      rendererOptions: { showErrorMessage: false },
    }).run({ artefacts: [] });
  } catch (error) {
    await rm(out, { recursive: true, force: true });
    throw error;
  } finally {
    clear();
    process.off('SIGINT', interrupt);
  }
}

const installing = (clone: string) => [
  step('Packages of the lock file', async (_, onLine) => {
    const parameters = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', parameters, { cwd: clone, onLine });
    return undefined;
  }),
  step('Lock files of all workspaces', async (_, onLine) => checkLocks(clone, onLine)),
];

const packing = (clone: string, temporary: string) => [
  step('The tarball for npm, packed twice', async (context, onLine) => {
    const packed = await packPackage(clone, join(temporary, 'npm'), onLine);
    context.artefacts.push(...packed);
    return describe(packed);
  }),
  step('The crates, packed twice and compiled', async (context, onLine) => {
    const packed = await packCrates(clone, join(temporary, 'crates'), onLine);
    context.artefacts.push(...packed);
    return describe(packed);
  }),
  step('The tarball in a new project', async (context, onLine) => {
    const [tarball] = context.artefacts.filter(({ name }) => name.endsWith('.tgz'));
    const folder = await folderIn(temporary, 'new-npm');
    await tryPackage(tarball as Artefact, folder, await typesOf(clone), onLine);
    return 'import, require, types';
  }),
  step('The crates in a new project', async (context, onLine) => {
    const packed = context.artefacts.filter(({ name }) => name.endsWith('.crate'));
    await tryCrates(packed, await folderIn(temporary, 'new-cargo'), onLine);
    return undefined;
  }),
];

/** Retries while programs that Ctrl-C ends still write there, which `maxRetries` does not cover. */
function removeFolder(folder: string): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let left = 50; ; left--) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (left === 0) throw error;
      Atomics.wait(pause, 0, 0, 100);
    }
  }
}

function step(title: string, work: Work): ListrTask<Context> {
  return {
    title,
    task: async (context, task) => {
      const result = await work(context, (line) => {
        // Outside a terminal each line would remain.
        if (process.stdout.isTTY) task.output = line;
      });
      if (result !== undefined) task.title = `${title}: ${result}`;
    },
  };
}

async function folderIn(temporary: string, name: string): Promise<string> {
  const folder = join(temporary, name);
  await mkdir(folder);
  return folder;
}

/** A clone does not have the names that a work tree has been given for itself. */
async function takeIdentity(root: string, clone: string): Promise<void> {
  for (const key of ['user.name', 'user.email']) {
    // Empty without one: git may take it from the environment, or else says in the next step what it misses.
    const value = (await run('git', ['config', '--default', '', key], { cwd: root })).trim();
    if (value !== '') await run('git', ['config', key, value], { cwd: clone });
  }
}

/** Writes what the release changes, and commits and tags it. */
export async function writeRelease(
  clone: string,
  { version, date }: Pick<Release, 'version' | 'date'>,
): Promise<string[]> {
  const git = (...parameters: string[]) => run('git', parameters, { cwd: clone });
  const state: State = await readState(clone);
  const notes = nextSection(state.changelog, state.fragments);
  for (const { path, stamped } of await stampedFiles(clone, { ...state, version })) {
    await writeFile(join(clone, path), stamped);
  }
  const collected = collect(state.changelog, state.fragments, version, date);
  await writeFile(join(clone, 'CHANGELOG.md'), collected);
  if (state.fragments.length > 0) {
    await git('rm', '--quiet', '--', 'changelog/*.md', ':!changelog/README.md');
  }
  await git('commit', '--quiet', '--all', '--message', `Release ${version}`);
  // Lines of the notes that begin with # are headings, not comments.
  await git(
    ...['tag', '--annotate', '--cleanup=verbatim', `v${version}`],
    ...['--message', `${version}\n\n${notes}\n`],
  );
  return (await git('show', '--name-only', '--format=', 'HEAD')).split('\n').filter(Boolean);
}

/** Fails if a lock file disagrees with the manifests beside it. */
async function checkLocks(clone: string, onLine: (line: string) => void): Promise<string> {
  const paths = (await run('git', ['ls-files'], { cwd: clone })).split('\n');
  const ending = (name: string) =>
    paths
      .filter((path) => `/${path}`.endsWith(`/${name}`))
      .map((path) => join(clone, dirname(path)));
  const npm = ending('package-lock.json');
  const cargo = ending('Cargo.lock');
  for (const cwd of npm) {
    await run('npm', ['ci', '--dry-run', '--ignore-scripts', '--no-audit'], { cwd, onLine });
  }
  for (const cwd of cargo) {
    await run('cargo', ['fetch', '--locked'], { cwd, onLine });
  }
  return `${npm.length} of npm, ${cargo.length} of cargo`;
}

async function typesOf(clone: string) {
  const installed = async (name: string): Promise<string> => {
    const manifest = await readFile(join(clone, 'node_modules', name, 'package.json'), 'utf8');
    return JSON.parse(manifest).version;
  };
  return { version: await installed('typescript'), nodeTypes: await installed('@types/node') };
}

function describe(artefacts: readonly Artefact[]): string {
  return artefacts.map(({ name, bytes }) => `${name} ${(bytes / 1000).toFixed(0)} kB`).join(', ');
}

/** Keeps the published files, their sums, and a clone at the tag, which cargo packs again when it publishes. */
async function keepArtefacts(
  artefacts: readonly Artefact[],
  clone: string,
  out: string,
  version: string,
): Promise<void> {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  for (const { path, name } of artefacts) await cp(path, join(out, name));
  const sums = artefacts.map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  await writeFile(join(out, 'SHA256SUMS'), sums.join(''));
  const source = join(out, 'source');
  await run('git', ['clone', '--quiet', '--branch', `v${version}`, clone, source], { cwd: out });
}

export async function bringBack(
  { root, version }: Pick<Release, 'root' | 'version'>,
  clone: string,
  base: string,
): Promise<void> {
  const git = (...parameters: string[]) => run('git', parameters, { cwd: root });
  const head = (await git('rev-parse', 'HEAD')).trim();
  const changes = await git('status', '--porcelain');
  if (head !== base || changes !== '') {
    throw new Error('The repository has changed during the release: begin again.');
  }
  const tag = `refs/tags/v${version}`;
  await git('fetch', '--quiet', '--no-tags', clone, `${tag}:${tag}`);
  try {
    await git('merge', '--quiet', '--ff-only', `v${version}`);
  } catch (error) {
    await git('tag', '--delete', `v${version}`);
    throw error;
  }
}
