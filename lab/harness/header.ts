/**
 * The conditions of a run, and a key that says whether two runs may be joined.
 *
 * Invariant: a change of the machine, of a version, of the table or of our own code changes the
 * key; a change of anything else does not.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Header } from './journal.js';
import type { Machine } from './machine.js';
import type { Table } from './table.js';
import type { LoadedTable } from './tables.js';
import { installedVersion, packageFolder } from './versions.js';

export function headerOf(
  { table, module }: LoadedTable,
  machine: Machine,
  wakeUpMicroseconds: number,
): Header {
  const folder = dirname(module);
  const packages = table.subjects.flatMap((subject) => subject.package ?? []);
  const names = [...new Set([...packages, ...(table.tools ?? [])])].sort();
  const installed = names.map((name) => [name, installedVersion(name, folder)]);
  const versions = { ...Object.fromEntries(installed), ...table.otherVersions };
  const { commit: _, ...sameMachine } = machine;
  const key = createHash('sha256')
    .update(JSON.stringify([table.table, sameMachine, versions]))
    .update(codeOf(folder))
    .update(
      ownPackages(table)
        .map((name) => codeOf(packageFolder(name, folder)))
        .join(''),
    )
    .update((table.programs ?? []).map(programCode).join(''))
    .digest('hex')
    .slice(0, 16);
  return { kind: 'table', table: table.table, key, machine, wakeUpMicroseconds, versions };
}

/** Packages of this repository: their version does not change with their code. */
function ownPackages(table: Table): string[] {
  const ours = table.subjects.filter((subject) => subject.role === 'ours');
  return [...new Set(ours.flatMap((subject) => subject.package ?? []))].sort();
}

function programCode(path: string): string {
  return existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
}

function codeOf(folder: string | undefined): string {
  if (folder === undefined) return '';
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.js') && !path.includes('node_modules'))
    .sort()
    .map((path) => `${path}\n${readFileSync(join(folder, path), 'utf8')}`)
    .join('\n');
}
