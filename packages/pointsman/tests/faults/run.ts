/**
 * Tries the primitives between processes against every fault:
 *
 *     node dist/faults/run.js                     all parts of docs/lock-faults.md, but the million sections
 *     node dist/faults/run.js --part limiter      one part of it
 *     node dist/faults/run.js 6 w2                just these faults; writes nothing
 *     node dist/faults/run.js --short             in the form of the tests; writes nothing
 *     node dist/faults/run.js --sections 5000 6   again until there are as many critical sections
 *
 * Ends with 1 when a promise was broken.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServer } from '../servers/server.js';
import type { Fault } from './fault.js';
import { together } from './outcome.js';
import { type Part, parts } from './parts.js';
import { counted, measured, page, partText, type Row } from './report.js';
import { tryFault } from './try.js';

const reportPath = fileURLToPath(new URL('../../../../../../docs/lock-faults.md', import.meta.url));

/** The maximum number of violations of a fault that are printed. */
const mostShown = 20;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', multiple: true, default: [] },
    short: { type: 'boolean', default: false },
    sections: { type: 'string', default: '0' },
  },
});
const known = parts.flatMap(({ faults }) => faults);
expectKnown('fault', positionals, new Set(known.map(({ number }) => number)));
expectKnown('part', values.part, new Set(parts.map(({ name }) => name)));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const isOfPart = positionals.length === 0;
const chosen: readonly Part[] = parts.flatMap((part) => {
  const { name, faults, sections } = part;
  if (!isOfPart) {
    const wanted = faults.filter(({ number }) => positionals.includes(number));
    return wanted.length > 0 && sections === undefined ? [{ ...part, faults: wanted }] : [];
  }
  const isWanted = values.part.length > 0 ? values.part.includes(name) : sections === undefined;
  return isWanted ? [part] : [];
});

const startedAt = performance.now();
const minutesSince = (begin: number) => (performance.now() - begin) / 60_000;
const written = new Map<Part, string>();
const rows: Row[] = [];
for (const part of chosen) {
  const begin = performance.now();
  const own: Row[] = [];
  for (const fault of part.faults) {
    console.log(`${minutesSince(startedAt).toFixed(1)} min: ${fault.number} ${fault.name}`);
    own.push({ fault, result: await attempt(fault, part.sections ?? Number(values.sections)) });
  }
  rows.push(...own);
  if (!isOfPart || values.short) continue;
  written.set(part, partText(part, own, await serverVersion(), minutesSince(begin)));
  // What was measured is kept if a later part is interrupted.
  writeFileSync(reportPath, page(readFileSync(reportPath, 'utf8'), written));
}

const violations = rows.flatMap(({ result }) =>
  typeof result === 'string' ? [] : result.violations,
);
const tried = rows.filter(({ result }) => typeof result !== 'string').length;
console.log(
  `${tried} faults tried, ${rows.length - tried} not: ` +
    (violations.length === 0 ? 'no violation' : `${violations.length} violations`),
);
// An explicit exit, because Node 20 does not end by itself after it has reset certain sockets.
process.exit(violations.length === 0 ? 0 : 1);

function expectKnown(kind: string, given: readonly string[], all: ReadonlySet<string>): void {
  const unknown = given.filter((name) => !all.has(name));
  if (unknown.length === 0) return;
  throw new Error(`unknown ${kind} ${unknown.join(', ')}; expected some of ${[...all].join(', ')}`);
}

async function attempt(fault: Fault, sections: number): Promise<Row['result']> {
  const missing = fault.missing?.();
  if (missing) {
    console.log(`  not tried: ${missing}`);
    return missing;
  }
  const form = values.short ? fault.short : fault.full;
  let outcome = await tryFault(fault, form);
  while (outcome.entered < sections && outcome.violations.length === 0) {
    outcome = together([outcome, await tryFault(fault, form)]);
    console.log(`  ${outcome.entered.toLocaleString('en')} critical sections`);
  }
  console.log(`  ${counted(outcome.counts)}`);
  console.log(`  ${measured(outcome)}`);
  for (const { trace } of outcome.violations.slice(0, mostShown)) {
    console.log(trace.replace(/^/gm, '  ! '));
  }
  const rest = outcome.violations.length - mostShown;
  if (rest > 0) console.log(`  ! and ${rest} more`);
  return outcome;
}

async function serverVersion(): Promise<string> {
  const server = await startServer();
  try {
    const described = String(await server.command('INFO', 'server'));
    return /redis_version:(\S+)/.exec(described)?.[1] ?? 'of an unknown version';
  } finally {
    await server.stop();
  }
}
