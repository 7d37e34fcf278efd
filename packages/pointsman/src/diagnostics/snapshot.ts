/** Snapshots of all watched primitives, and their text form. */

import { describe } from '../sync/errors.js';
import { everyWatched, type Request, type Watched } from './record.js';
import type { Activity, Deadlock, PrimitiveSnapshot, Snapshot } from './reports.js';

export function activityOf(request: Request): Activity {
  const { watched, operation, permits, keys, owner, context, stack, since } = request;
  return {
    primitive: watched.name,
    kind: watched.kind.name,
    operation,
    age: performance.now() - since,
    permits,
    ...(keys && { keys: keys.map(describe) }),
    ...(owner !== undefined && { owner: describe(owner) }),
    ...(context?.name !== undefined && { context: context.name }),
    stack: stack.lines,
  };
}

const primitiveOf = (watched: Watched): PrimitiveSnapshot => ({
  name: watched.name,
  kind: watched.kind.name,
  ...(Number.isFinite(watched.limit) && { limit: watched.limit }),
  holders: watched.holds.map(activityOf),
  waiters: [...watched.waits].map(activityOf),
});

/**
 * Returns the holders and waiters of all watched primitives, as plain data. {@link format} converts it to text.
 *
 * @example
 * ```ts
 * import { Mutex } from 'pointsman';
 * import { snapshot, watched } from 'pointsman/diagnostics';
 *
 * const mutex = watched(new Mutex(), { name: 'ledger' });
 * using lock = await mutex.lock({ owner: 'import' });
 * const [ledger] = snapshot().primitives;
 * console.log(ledger?.name, ledger?.kind, ledger?.holders[0]?.owner); // ledger Mutex "import"
 * ```
 */
export function snapshot(): Snapshot {
  return { primitives: [...everyWatched()].map(primitiveOf) };
}

const milliseconds = (age: number): string =>
  age < 10_000 ? `${Math.round(age)} ms` : `${(age / 1000).toFixed(1)} s`;

const indent = (lines: readonly string[], by = '  '): string[] =>
  lines.map((line) => `${by}${line}`);

const nameOf = ({ keys, primitive, kind }: Activity): string =>
  `${kind} ${primitive}${keys === undefined ? '' : ` ${keys.join(', ')}`}`;

function linesOf(activity: Activity, what: string): string[] {
  const { context, operation, permits, owner, age, stack } = activity;
  const details = [
    `${operation}() ${milliseconds(age)} ago`,
    permits > 1 && `${permits} permits`,
    owner !== undefined && `owner ${owner}`,
    context !== undefined && `task ${context}`,
  ];
  const where = stack.map((frame) => `at ${frame}`);
  return [`${what}, ${details.filter(Boolean).join(', ')}`, ...indent(where, '    ')];
}

function linesOfPrimitive({ name, kind, limit, holders, waiters }: PrimitiveSnapshot): string[] {
  const of = limit === undefined ? '' : ` of ${limit}`;
  const keyed = (activity: Activity) => (activity.keys ? ` ${activity.keys.join(', ')}` : '');
  return [
    `${kind} ${name}: ${holders.length}${of} held, ${waiters.length} waiting`,
    ...holders.flatMap((each) => indent(linesOf(each, `held${keyed(each)}`))),
    ...waiters.flatMap((each) => indent(linesOf(each, `waiting${keyed(each)}`))),
  ];
}

function linesOfDeadlock({ members }: Deadlock): string[] {
  return [
    `deadlock: ${members.length === 1 ? 'one waits for itself' : `${members.length} wait for each other`}`,
    ...members.flatMap(({ context, holds, waitsFor }, index) => [
      `${index + 1}. ${context ?? waitsFor.stack[0] ?? waitsFor.operation}`,
      ...holds.flatMap((each) => indent(linesOf(each, `holds ${nameOf(each)}`), '   ')),
      ...indent(linesOf(waitsFor, `waits for ${nameOf(waitsFor)}`), '   '),
    ]),
  ];
}

/**
 * Formats a snapshot, a deadlock, or a single holder or waiter as text for a terminal or a log.
 *
 * @example
 * ```ts
 * import { Semaphore } from 'pointsman';
 * import { format, snapshot, watched } from 'pointsman/diagnostics';
 *
 * const semaphore = watched(new Semaphore(2), { name: 'connections' });
 * console.log(format(snapshot())); // Semaphore connections: 0 of 2 held, 0 waiting
 * ```
 */
export function format(report: Snapshot | Deadlock | Activity): string {
  if ('primitives' in report) return report.primitives.flatMap(linesOfPrimitive).join('\n');
  if ('members' in report) return linesOfDeadlock(report).join('\n');
  return linesOf(report, nameOf(report)).join('\n');
}
