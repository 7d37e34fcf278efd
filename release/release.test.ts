/** A release in a minimal repository, up to the packing. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { refusals } from './refusals.js';
import { readSituation, readState, stampedFiles } from './repository.js';
import { run } from './run.js';
import { bringBack, checkTag, makeRelease, writeRelease } from './steps.js';

const files = {
  'package.json': '{ "repository": "https://host.example/owner/name" }',
  'packages/pointsman/package.json':
    '{ "name": "pointsman", "version": "0.1.0", "license": "MIT" }',
  'Cargo.toml': '[workspace.package]\nversion = "0.1.0"\nlicense = "MIT"\n',
  'CHANGELOG.md': '# Changelog\n\n## 0.1.0 - 2025-01-01\n\nThe first one.\n',
  'changelog/README.md': 'Fragments.\n',
  'changelog/more.added.md': 'More of it.\n',
};

const version = '0.2.0';
const date = '2026-01-31';

/** The repository, and a function that runs git in it. */
async function repository() {
  const parent = await mkdtemp(join(tmpdir(), 'pointsman-repository-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const root = join(parent, 'root');
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const git = async (...parameters: string[]) =>
    (await run('git', parameters, { cwd: root })).trim();
  await git('init', '--quiet', '--initial-branch', 'main');
  await git('config', 'user.name', 'Name');
  await git('config', 'user.email', 'name@host.example');
  await git('add', '.');
  for (const { path, stamped } of await stampedFiles(root, await readState(root))) {
    await writeFile(join(root, path), stamped);
  }
  await git('commit', '--quiet', '--all', '--message', 'Begin');
  await git('tag', 'v0.1.0');
  const clone = join(parent, 'clone');
  const cloned = async () => {
    await git('clone', '--quiet', root, clone);
    await run('git', ['config', 'user.name', 'Name'], { cwd: clone });
    await run('git', ['config', 'user.email', 'name@host.example'], { cwd: clone });
    return clone;
  };
  const reasons = async () => refusals(await readSituation(root, version, await readState(root)));
  return { parent, root, git, cloned, reasons };
}

test('a release is one commit, with the versions, the changelog and a tag', async () => {
  const { root, git, cloned, reasons } = await repository();
  expect(await reasons()).toEqual([]);
  const clone = await cloned();
  const base = await git('rev-parse', 'HEAD');
  await writeRelease(clone, { version, date });
  expect(await git('rev-parse', 'HEAD')).toBe(base);
  await bringBack({ root, version }, clone, base);

  expect(await git('rev-list', '--count', `${base}..HEAD`)).toBe('1');
  expect(await git('rev-parse', `v${version}^{commit}`)).toBe(await git('rev-parse', 'HEAD'));
  expect(await git('status', '--porcelain')).toBe('');
  expect(await git('tag', '--list', '--format=%(contents)', `v${version}`)).toContain(
    '### Added\n\n- More of it.',
  );
  expect(await readState(root)).toMatchObject({ version, fragments: [] });
  expect(await readdir(join(root, 'changelog'))).toEqual(['README.md']);
  expect(await readFile(join(root, 'Cargo.toml'), 'utf8')).toContain('version = "0.2.0"');
  expect(await readFile(join(root, 'CHANGELOG.md'), 'utf8')).toContain(
    '# Changelog\n\n## 0.2.0 - 2026-01-31\n\n### Added\n\n- More of it.\n\n## 0.1.0',
  );
  expect(await reasons()).toEqual([
    'the tag v0.2.0 already exists',
    expect.stringContaining('nothing to release'),
  ]);
});

test('a repository with new commits in the meantime is not changed', async () => {
  const { root, git, cloned } = await repository();
  const clone = await cloned();
  const base = await git('rev-parse', 'HEAD');
  await writeRelease(clone, { version, date });
  await git('commit', '--quiet', '--allow-empty', '--message', 'Meanwhile');
  const head = await git('rev-parse', 'HEAD');
  await expect(bringBack({ root, version }, clone, base)).rejects.toThrow('begin again');
  expect(await git('rev-parse', 'HEAD')).toBe(head);
  expect(await git('tag', '--list')).toBe('v0.1.0');
});

test('a release that fails half-way changes nothing', async () => {
  const { parent, root, git } = await repository();
  vi.stubEnv('TMPDIR', parent);
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });
  const before = [await git('for-each-ref'), await readdir(root)];
  // There is no lock file.
  await expect(makeRelease({ root, version, date, tested: true })).rejects.toThrow(/npm ci/);
  expect([await git('for-each-ref'), await readdir(root)]).toEqual(before);
  expect(await git('status', '--porcelain')).toBe('');
  expect(await readdir(parent)).toEqual(['root']);
});

test('reasons from git refuse the release before it has any effect', async () => {
  const { parent, root, git, reasons } = await repository();
  const remote = join(parent, 'remote');
  await git('clone', '--quiet', '--bare', root, remote);
  await git('remote', 'add', 'origin', remote);
  await git('push', '--quiet', '--set-upstream', 'origin', 'main');
  expect(await reasons()).toEqual([]);

  await git('commit', '--quiet', '--allow-empty', '--message', 'Of somebody else');
  await git('push', '--quiet', 'origin', 'main', 'HEAD:refs/tags/v0.2.0');
  await git('reset', '--quiet', '--hard', 'HEAD~');
  await writeFile(join(root, 'new.txt'), '');
  await git('checkout', '--quiet', '-b', 'topic');
  expect(await reasons()).toEqual([
    'the tag v0.2.0 already exists',
    expect.stringContaining('not from topic'),
    expect.stringContaining('git pull'),
    expect.stringContaining('?? new.txt'),
  ]);
});

test('a file with another version is out of step', async () => {
  const { root, git, reasons } = await repository();
  await writeFile(
    join(root, 'Cargo.toml'),
    '[workspace.package]\nversion = "0.1.1"\nlicense = "MIT"\n',
  );
  await git('commit', '--quiet', '--all', '--message', 'Forget the rest');
  expect(await reasons()).toEqual([expect.stringContaining('(Cargo.toml)')]);
});

test('only the unchanged commit of the tag is packed again and published', async () => {
  const { root, git } = await repository();
  await expect(checkTag(root, version)).rejects.toThrow('HEAD does not have the tag v0.2.0');
  await checkTag(root, '0.1.0');
  await writeFile(join(root, 'CHANGELOG.md'), 'Changed.');
  await expect(checkTag(root, '0.1.0')).rejects.toThrow('uncommitted changes');
  await git('commit', '--quiet', '--all', '--message', 'Go on');
  await expect(checkTag(root, '0.1.0')).rejects.toThrow('HEAD does not have the tag');
});
