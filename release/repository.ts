/** Reads the files and the git state of a work tree. Changes nothing. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Address, parseAddress } from './address.js';
import { type Fragment, nextSection, parseFragments } from './changelog.js';
import type { Situation } from './refusals.js';
import { run } from './run.js';
import { stampOf } from './stamp/index.js';

export interface State {
  readonly version: string;
  readonly address: Address | undefined;
  readonly changelog: string;
  readonly fragments: readonly Fragment[];
}

export async function readState(root: string): Promise<State> {
  const read = (path: string) => readFile(join(root, path), 'utf8');
  const folder = join(root, 'changelog');
  const files = new Map<string, string>();
  for (const name of await readdir(folder)) {
    if (name !== 'README.md') files.set(name, await readFile(join(folder, name), 'utf8'));
  }
  return {
    version: JSON.parse(await read('packages/pointsman/package.json')).version,
    address: parseAddress(JSON.parse(await read('package.json')).repository),
    changelog: await read('CHANGELOG.md'),
    fragments: parseFragments(files),
  };
}

/** Returns the files that state the version or the address, with their stamped texts. */
export async function stampedFiles(
  root: string,
  { version, address }: Pick<State, 'version' | 'address'>,
): Promise<{ path: string; text: string; stamped: string }[]> {
  const files = [];
  for (const path of await trackedFiles(root)) {
    const stamp = stampOf(path);
    if (!stamp) continue;
    const text = await readFile(join(root, path), 'utf8');
    files.push({ path, text, stamped: stamp(text, { version, address }) });
  }
  return files;
}

export async function outOfStep(root: string, state: State): Promise<string[]> {
  const files = await stampedFiles(root, state);
  return files.filter(({ text, stamped }) => stamped !== text).map(({ path }) => path);
}

export async function readSituation(root: string, asked: string, state: State): Promise<Situation> {
  const git = async (...parameters: string[]) =>
    (await run('git', parameters, { cwd: root })).split('\n').filter(Boolean);
  const remote = await upstream(root);
  const theirs = remote
    ? (await git('ls-remote', remote, 'refs/heads/main', 'refs/tags/*')).map(
        (line) => line.split('\t') as [commit: string, name: string],
      )
    : [];
  const newest = theirs.find(([, name]) => name === 'refs/heads/main')?.[0];
  return {
    asked,
    current: state.version,
    tags: [
      ...(await git('tag', '--list')),
      ...theirs.map(([, name]) => name.replace('refs/tags/', '')),
    ],
    branch: (await git('rev-parse', '--abbrev-ref', 'HEAD'))[0] as string,
    behind: newest !== undefined && !(await isAncestor(root, newest)),
    changes: await git('status', '--porcelain'),
    hasAddress: state.address !== undefined,
    hasNews: nextSection(state.changelog, state.fragments) !== '',
    outOfStep: await outOfStep(root, state),
    missingTools: await missingTools(root),
  };
}

/** Returns the remote of the branch `main`, if any. */
export async function upstream(root: string): Promise<string | undefined> {
  const remote = run('git', ['config', 'branch.main.remote'], { cwd: root });
  return remote.then(
    (name) => name.trim(),
    () => undefined,
  );
}

/** Also false for a commit that is not in this repository. */
function isAncestor(root: string, commit: string): Promise<boolean> {
  return run('git', ['merge-base', '--is-ancestor', commit, 'HEAD'], { cwd: root }).then(
    () => true,
    () => false,
  );
}

export async function trackedFiles(root: string, under: readonly string[] = []): Promise<string[]> {
  const listed = await run('git', ['ls-files', '-z', '--', ...under], { cwd: root });
  // During a merge, a file with conflicts is listed several times.
  const paths = [...new Set(listed.split('\0').filter(Boolean))];
  return paths.filter((path) => existsSync(join(root, path)));
}

async function missingTools(root: string): Promise<string[]> {
  const tools = ['git', 'npm', 'cargo', 'tar', 'make'];
  const found = tools.map((tool) =>
    run(tool, ['--version'], { cwd: root }).then(
      () => true,
      () => false,
    ),
  );
  const present = await Promise.all(found);
  return tools.filter((_, index) => !present[index]);
}
