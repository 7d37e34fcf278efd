/**
 * Asks npm's registry for known vulnerabilities of all packages in the lock files of this repository.
 *
 * Invariant: the audit fails on an advisory without an entry in audit-exceptions.json, on an unused entry, and without
 * an answer from the registry.
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

/** The reasons why advisories do not matter here, by id: GHSA-…. */
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

/** Parses the output of `npm audit --json`. */
export function advisoriesOf(printed: string): Advisory[] {
  const { vulnerabilities, error, message } = JSON.parse(printed) as Answer;
  if (!vulnerabilities) {
    throw new Error(`The registry returned no audit: ${message ?? error?.summary ?? printed}`);
  }
  const advisories = new Map<string, Advisory>();
  for (const { via } of Object.values(vulnerabilities)) {
    for (const cause of via) {
      // A name refers to another entry, which has the advisory.
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
    ...unused.map(
      (id) => `release/audit-exceptions.json: remove ${id}, which no package has any more`,
    ),
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
    // npm exits with 1 if there are advisories; only the output matters.
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
      ? 'Upgrade these packages, or say in release/audit-exceptions.json why an advisory does not matter.'
      : `No known vulnerabilities in ${found.size} lock files, except ${excepted} exceptions.`,
  );
  return problems.length === 0;
}
