/** docs/support.md agrees with the manifests of the package and the crates, and with the versions under test. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runtimesOfTests } from './tested-runtimes.js';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('packages/pointsman/package.json'));
const tables = read('docs/support.md').split(/^## /m).slice(1).map(rowsOf);
const [runtimes = [], systems = []] = tables;

/** Returns the cells of the first table, without its head. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  const cells = (line: string) => line.split('|').slice(1, -1);
  return lines.slice(2).map((line) => cells(line).map((cell) => cell.trim()));
}

/** Returns the locked version of a package, with that many of its numbers. */
function locked(folder: string, name: string, numbers: number): string {
  const { packages } = JSON.parse(read(join(folder, 'package-lock.json')));
  const version: string = packages[`node_modules/${name}`].version;
  return version.split('.').slice(0, numbers).join('.');
}

function atLeast(range: string): string {
  return `${range.replace('>=', '')} and later`;
}

const all = 'packages/pointsman/tests/runtimes/all';
const oldest = read('.node-version').trim();
/** The page's names for the test runner's. */
const titles: Record<string, string> = {
  bun: 'Bun',
  chromium: 'Chromium',
  deno: 'Deno',
  firefox: 'Firefox',
  webkit: 'WebKit',
};
const notRuntimes = ['Redis', 'Valkey', 'ioredis', 'node-redis', 'TypeScript', 'Rust'];

test('each runtime of the tests has its row', async () => {
  const known = await runtimesOfTests();
  const nodes = known.filter((name) => name.startsWith('node-'));
  const tested = (name: string): string => {
    if (name === 'bun' || name === 'deno') return locked(all, name, 2);
    return name === 'workerd' ? locked('.', name, 2) : "the system's";
  };
  const expected = [
    ['Node', atLeast(manifest.engines.node), [oldest, ...nodes].join(', ').replaceAll('node-', '')],
    ...known
      .filter((name) => !nodes.includes(name))
      .map((name) => [titles[name] ?? name, 'the newest', tested(name)]),
  ];
  const stated = runtimes
    .map((cells) => cells.slice(0, 3))
    .filter(([name = '']) => !notRuntimes.includes(name));
  expect(stated.sort()).toEqual(expected.sort());
});

test('the oldest tested Node is the oldest supported one', () => {
  expect(manifest.engines.node).toBe(`>=${oldest}`);
});

const row = (name: string) => runtimes.find(([cell]) => cell === name)?.slice(1, 3);

test('the servers are the downloaded ones and the one of the system', () => {
  const brought = /^servers: (.*?) ##/m.exec(read('packages/pointsman/tests/servers/servers.mk'));
  const versions = (name: string) =>
    [...(brought?.[1] ?? '').matchAll(new RegExp(`\\b${name}-([^\\s)]+)`, 'g'))]
      .map(([, version]) => version)
      .sort();
  expect(row('Redis')).toEqual(['6.2 and later', `${versions('redis').join(', ')}, the system's`]);
  expect(row('Valkey')).toEqual(['8 and later', versions('valkey').join(', ')]);
});

test.each([
  ['ioredis', ['ioredis-5', 'ioredis']],
  ['node-redis', ['redis-5', 'redis']],
])('%s', (name, tested) => {
  const versions = tested.map((dependency) => locked('.', dependency, 2));
  const [oldest] = versions[0]?.split('.') ?? [];
  expect(row(name)).toEqual([`${oldest} and later`, versions.join(', ')]);
});

test('TypeScript and Rust', () => {
  const typescript = [
    locked('release/oldest-typescript', 'typescript', 2),
    locked('.', 'typescript', 2),
  ];
  expect(row('TypeScript')).toEqual([`${typescript[0]} and later`, typescript.join(', ')]);
  const promised = /^rust-version = "(.*)"$/m.exec(read('Cargo.toml'))?.[1];
  const channel = /^channel = "(\d+\.\d+)/m.exec(read('rust-toolchain.toml'))?.[1];
  expect(row('Rust')).toEqual([`${promised} and later`, `${promised}, ${channel}`]);
});

test('the targets are exactly those that are compiled or tested', () => {
  const crates = read('crates/crates.mk');
  const list = (name: string) => new RegExp(`^${name} := (.*)$`, 'm').exec(crates)?.[1]?.split(' ');
  const stated = systems.map(([, target = '']) => target.replaceAll('`', '')).filter(Boolean);
  expect(stated.sort()).toEqual(
    [...(list('TARGETS') ?? []), ...(list('NARROW') ?? []), ...(list('WASM') ?? [])].sort(),
  );
});

test('the commands of each row are part of make test-all', () => {
  const needed = /^test-all: (.*?) ##/m.exec(read('Makefile'))?.[1]?.split(' ') ?? [];
  // `make test` is the first part of it.
  const parts = ['test-all', 'test', ...needed];
  for (const cells of [...runtimes, ...systems]) {
    const verbs = [...(cells.at(-1) ?? '').matchAll(/`make ([\w-]+)`/g)].map(([, verb]) => verb);
    expect(verbs, cells[0]).not.toEqual([]);
    for (const verb of verbs) expect(parts, cells[0]).toContain(verb);
  }
});
