/** The public CI runs only targets of the Makefile, with pinned actions and few permissions, and what docs/support.md says. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { publishCommands } from './commands.js';
import { runtimesOfTests } from './tested-runtimes.js';

interface Job {
  readonly uses?: string;
  readonly 'runs-on'?: string;
  readonly 'timeout-minutes'?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: Matrix };
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: unknown;
  readonly concurrency: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

type Combination = Readonly<Record<string, unknown>>;
type Matrix = Readonly<Record<string, readonly unknown[]>> & {
  readonly include?: readonly Combination[];
};

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const folder = '.github/workflows';
const workflows = readdirSync(join(root, folder)).map((name) => {
  const text = read(join(folder, name));
  return { name, text, workflow: parse(text) as Workflow };
});
const jobs = workflows.flatMap(({ name, workflow }) =>
  Object.entries(workflow.jobs).map(([id, job]) => ({ file: name, id, job })),
);

/** Returns each combination of a matrix; `include` has whole combinations here. */
function combinations({ include, ...axes }: Matrix): readonly Combination[] {
  if (include) return include;
  return Object.entries(axes).reduce<Combination[]>(
    (found, [axis, values]) =>
      found.flatMap((one) => values.map((value) => ({ ...one, [axis]: value }))),
    [{}],
  );
}

/** Replaces `${{ matrix.a.b }}` by its value in the combination. */
function expand(text: string, matrix: Combination): string {
  return text.replace(/\$\{\{ matrix\.([\w.]+) \}\}/g, (_, path: string) =>
    String(path.split('.').reduce<unknown>((value, key) => (value as Combination)[key], matrix)),
  );
}

/** The commands of a job, each with the machine and the Node that it runs on. */
const commands = jobs.flatMap(({ job }) =>
  combinations(job.strategy?.matrix ?? ({} as Matrix)).flatMap((matrix) =>
    (job.steps ?? [])
      .filter(({ run }) => run !== undefined)
      .map(({ run = '' }) => ({
        line: expand(run, matrix),
        machine: expand(job['runs-on'] ?? '', matrix),
        node: matrix.node,
      })),
  ),
);

const makefiles = ['Makefile', ...[...read('Makefile').matchAll(/[\w./-]+\.mk/g)].map(String)];
const targets = new Set(
  makefiles.flatMap((path) =>
    [...read(path).matchAll(/^([a-z0-9-]+):/gm)].map(([, name]) => name as string),
  ),
);
const runtimes = await runtimesOfTests();
const destinations = Object.keys(publishCommands('1.0.0', { source: '.', canProve: true }));

describe.each(commands)('$line on $machine', ({ line }) => {
  const [, names = '', variable, value = ''] =
    /^make ((?:[a-z0-9-]+ ?)+?)(?: ([A-Z]+)="?([^"]*)"?)?$/.exec(line) ?? [];

  test('runs existing targets', () => {
    expect(names).not.toBe('');
    expect(names.split(' ').filter((name) => !targets.has(name))).toEqual([]);
  });

  test('gives them known values', () => {
    const known = { RUNTIME: runtimes, TO: destinations }[variable ?? ''];
    expect(
      variable === undefined ? [] : value.split(' ').filter((one) => !known?.includes(one)),
    ).toEqual([]);
  });
});

const uses = workflows.flatMap(({ text }) =>
  [...text.matchAll(/\buses: (.*)$/gm)].map(([, used]) => used as string),
);

test.each([...new Set(uses)])('%s is pinned', (used) => {
  const [local = ''] = used.split(' ');
  if (local.startsWith('./')) expect(existsSync(join(root, local))).toBe(true);
  else expect(used).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test.each(workflows)('$name grants nothing to all jobs, and runs once', ({ workflow }) => {
  expect(workflow.permissions).toEqual({});
  expect(workflow.concurrency).toBeDefined();
});

test.each(jobs)('$file: $id has permissions and a time limit of its own', ({ job }) => {
  expect(job.permissions).toBeDefined();
  if (job.uses === undefined) expect(job['timeout-minutes']).toBeGreaterThan(0);
});

test.each(workflows)('$name: a pull request has no secrets and can write nothing', (each) => {
  expect(each.text).not.toContain('pull_request_target');
  expect(each.text).not.toContain('secrets.');
  if (!('pull_request' in each.workflow.on)) return;
  for (const { permissions } of Object.values(each.workflow.jobs)) {
    expect(permissions).toEqual({ contents: 'read' });
  }
});

test('each part of make test-all runs, except the servers, which need Debian', () => {
  const parts = /^test-all: (.*?) ##/m.exec(read('Makefile'))?.[1]?.split(' ') ?? [];
  // `make test` has the first ones, `make redis test-node` and `make targets` the next.
  const within = ['setup', 'browsers', 'redis', 'check', 'rust', 'servers'];
  const run = commands.flatMap(({ line }) => line.split(' '));
  expect(parts.filter((part) => !within.includes(part) && !run.includes(part))).toEqual([]);
  for (const runtime of runtimes.filter((name) => !['workerd', 'chromium'].includes(name))) {
    expect(
      commands.some(({ line }) => line.includes(runtime)),
      runtime,
    ).toBe(true);
  }
});

test('docs/support.md has what only the public CI tests', () => {
  const [, section = ''] = read('docs/support.md').split('\n## Only in the public CI\n');
  const stated = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => {
      const [, machine = '', what = '', by = ''] = line.split('|').map((cell) => cell.trim());
      const list = what.split(/, in (?:Node )?/)[1] ?? '';
      return `${machine} ${by} ${list}`.replaceAll('`', '');
    });
  const found = new Map<string, string[]>();
  for (const { line, machine, node } of commands) {
    const [verb] = /test-node|runtimes|rust$/.exec(line) ?? [];
    if (!verb || (machine.startsWith('ubuntu') && verb !== 'test-node')) continue;
    const list = node === undefined ? (/"(.*)"/.exec(line)?.[1]?.split(' ') ?? []) : [String(node)];
    const key = `${machine} make ${verb}`;
    found.set(key, [...(found.get(key) ?? []), ...list]);
  }
  const expected = [...found].map(([key, list]) => `${key} ${list.join(', ')}`);
  expect(stated.sort()).toEqual(expected.sort());
});
