/** The audit against a registry of this test, with advisories that the test sets. */
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { advisoriesOf, auditAll, judge } from './audit.js';
import { run } from './run.js';

const advisory = {
  id: 1,
  url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
  title: 'Everything is open',
  severity: 'high',
  vulnerable_versions: '<2.0.0',
};

async function repository(status: number): Promise<string> {
  const registry = createServer((request, response) => {
    const isAsked = request.url?.endsWith('/advisories/bulk') ?? false;
    response.writeHead(isAsked ? status : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isAsked && status === 200 ? { unsafe: [advisory] } : {}));
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const { port } = registry.address() as { port: number };
  const root = await mkdtemp(join(tmpdir(), 'pointsman-audit-'));
  onTestFinished(async () => {
    registry.close();
    await rm(root, { recursive: true });
  });
  const manifest = { name: 'root', version: '1.0.0', dependencies: { unsafe: '^1.0.0' } };
  const lock = {
    ...{ name: 'root', version: '1.0.0', lockfileVersion: 3 },
    packages: {
      '': manifest,
      'node_modules/unsafe': { version: '1.0.0', resolved: 'https://example.org/unsafe.tgz' },
    },
  };
  await mkdir(join(root, 'release'));
  await writeFile(join(root, '.npmrc'), `registry=http://127.0.0.1:${port}/\nfetch-retries=0\n`);
  await writeFile(join(root, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(root, 'package-lock.json'), JSON.stringify(lock));
  await writeFile(join(root, 'release/audit-exceptions.json'), '{}');
  await run('git', ['init', '--quiet'], { cwd: root });
  await run('git', ['add', '.'], { cwd: root });
  for (const stream of ['log', 'error'] as const) vi.spyOn(console, stream).mockReturnValue();
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  return root;
}

test('a known vulnerability fails the audit, and the message names the lock file', async () => {
  expect(await auditAll(await repository(200))).toBe(false);
  expect(console.error).toHaveBeenCalledWith(
    'package-lock.json: unsafe, high: Everything is open (GHSA-aaaa-bbbb-cccc)',
  );
});

test('a registry without an audit fails the audit', async () => {
  await expect(auditAll(await repository(405))).rejects.toThrow('returned no audit');
});

test('an exception lets an advisory pass', () => {
  const known = { id: 'GHSA-x', module: 'a', severity: 'low', title: 't' };
  const found = new Map([['package-lock.json', [known]]]);
  expect(judge(found, { 'GHSA-x': 'Only a test uses it.' })).toEqual([]);
  expect(judge(found, {})).toEqual(['package-lock.json: a, low: t (GHSA-x)']);
});

test('an unused exception fails the audit', () => {
  expect(judge(new Map([['package-lock.json', []]]), { 'GHSA-x': 'Why' })).toEqual([
    'release/audit-exceptions.json: remove GHSA-x, which no package has any more',
  ]);
});

test('an advisory is reported once for any number of dependents', () => {
  const via = { name: 'a', title: 't', url: 'https://x/GHSA-x', severity: 'low' };
  const printed = { vulnerabilities: { a: { via: [via] }, b: { via: ['a'] }, c: { via: [via] } } };
  expect(advisoriesOf(JSON.stringify(printed))).toEqual([
    { id: 'GHSA-x', module: 'a', severity: 'low', title: 't' },
  ]);
});
