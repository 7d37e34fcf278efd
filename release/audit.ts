/**
 * Asks npm's registry for known vulnerabilities of everything that a lock file of this repository names.
 *
 * Invariant: each one fails, unless audit-exceptions.json says why it does not matter here; so does an exception that
 * nothing needs any more, and a registry that gives no answer.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { run } from './run.js';

export interface Advisory {
  readonly id: string;
  readonly module: string;
  readonly severity: string;
  readonly title: string;
}

/** Why an advisory does not matter, by its id: GHSA-…. */
export type Exceptions = Readonly<Record<string, string>>;

interface Answer {
  readonly error?: { readonly summary?: string; readonly detail?: string };
  readonly message?: string;
  readonly vulnerabilities?: Record<string, { readonly via: readonly (string | Via)[] }>;
}

interface Via {
  readonly name: string;
  readonly title: string;
  readonly url: string;
  readonly severity: string;
}

/** The advisories in what `npm audit --json` prints. */
export function advisoriesOf(printed: string): Advisory[] {
  const { vulnerabilities, error, message } = JSON.parse(printed) as Answer;
  if (!vulnerabilities) {
    throw new Error(`The registry gives no audit: ${message ?? error?.summary ?? printed}`);
  }
  const advisories = new Map<string, Advisory>();
  for (const { via } of Object.values(vulnerabilities)) {
    for (const cause of via) {
      // A name stands for another entry, which has the advisory.
      if (typeof cause === 'string') continue;
      const { name, title, url, severity } = cause;
      const id = url.split('/').at(-1) as string;
      advisories.set(`${id} ${name}`, { id, module: name, severity, title });
    }
  }
  return [...advisories.values()];
}

export function judge(
  found: ReadonlyMap<string, readonly Advisory[]>,
  exceptions: Exceptions,
): string[] {
  const met = new Set<string>();
  const problems: string[] = [];
  for (const [path, advisories] of found) {
    for (const { id, module, severity, title } of advisories) {
      met.add(id);
      if (!(id in exceptions)) problems.push(`${path}: ${module}, ${severity}: ${title} (${id})`);
    }
  }
  const unused = Object.keys(exceptions).filter((id) => !met.has(id));
  return [
    ...problems,
    ...unused.map((id) => `release/audit-exceptions.json: nothing has ${id} any more, remove it`),
  ];
}

export async function auditAll(root: string): Promise<boolean> {
  const lists = await run('git', ['ls-files', '*package-lock.json'], { cwd: root });
  const exceptions = JSON.parse(
    await readFile(join(root, 'release/audit-exceptions.json'), 'utf8'),
  ) as Exceptions;
  const found = new Map<string, Advisory[]>();
  for (const path of lists.split('\n').filter(Boolean)) {
    const folder = dirname(path);
    // It ends with 1 where there are advisories; what it prints says more.
    const { stdout } = await promisify(execFile)(
      'npm',
      ['audit', '--json', '--package-lock-only'],
      { cwd: join(root, folder), maxBuffer: Number.POSITIVE_INFINITY },
    ).catch((error: { stdout: string }) => error);
    found.set(path, advisoriesOf(stdout));
    console.log(`  ${path}: ${found.get(path)?.length} known vulnerabilities`);
  }
  const problems = judge(found, exceptions);
  for (const problem of problems) console.error(problem);
  const excepted = Object.keys(exceptions).length;
  console.log(
    problems.length > 0
      ? 'Upgrade what has them, or say in release/audit-exceptions.json why one does not matter.'
      : `Nothing is known of what ${found.size} lock files name, but ${excepted} exceptions.`,
  );
  return problems.length === 0;
}
