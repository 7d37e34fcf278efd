/**
 * Tries the lock against every fault:
 *
 *     node dist/faults/run.js             all of them, and writes docs/lock-faults.md
 *     node dist/faults/run.js 6 9         just these
 *     node dist/faults/run.js --host      those of the store on one machine, or some of them
 *     node dist/faults/run.js --short     in the form of the tests
 *
 * Ends with 1 when a promise was broken.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServer } from '../servers/server.js';
import { hostMatrix } from './matrix/host.js';
import { matrix } from './matrix/index.js';
import { counted, measured, page, type Row } from './report.js';
import { tryFault } from './try.js';

const reportPath = fileURLToPath(new URL('../../../../../../docs/lock-faults.md', import.meta.url));

/** The maximum number of violations of a fault that are printed. */
const mostShown = 20;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    host: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
  },
});
const known = values.host ? hostMatrix : matrix;
const unknown = positionals.filter((number) => !known.some((fault) => fault.number === number));
if (unknown.length > 0) {
  const numbers = known.map((fault) => fault.number).join(', ');
  throw new Error(`unknown fault ${unknown.join(', ')}; expected some of ${numbers}`);
}
const chosen =
  positionals.length > 0 ? known.filter(({ number }) => positionals.includes(number)) : known;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const startedAt = performance.now();
const rows: Row[] = [];
for (const [index, fault] of chosen.entries()) {
  const elapsed = ((performance.now() - startedAt) / 60_000).toFixed(1);
  console.log(`${index + 1}/${chosen.length}, ${elapsed} min: ${fault.number} ${fault.name}`);
  const missing = fault.missing?.();
  if (missing) {
    console.log(`  not tried: ${missing}`);
    rows.push({ fault, result: missing });
    continue;
  }
  const outcome = await tryFault(fault, values.short ? fault.short : fault.full);
  console.log(`  ${counted(outcome.counts)}`);
  console.log(`  ${measured(outcome)}`);
  for (const { trace } of outcome.violations.slice(0, mostShown)) {
    console.log(trace.replace(/^/gm, '  ! '));
  }
  const rest = outcome.violations.length - mostShown;
  if (rest > 0) console.log(`  ! and ${rest} more`);
  rows.push({ fault, result: outcome });
}

if (chosen === matrix && !values.short) {
  const minutes = (performance.now() - startedAt) / 60_000;
  writeFileSync(reportPath, page(rows, await serverVersion(), minutes));
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

async function serverVersion(): Promise<string> {
  const server = await startServer();
  try {
    const described = String(await server.command('INFO', 'server'));
    return /redis_version:(\S+)/.exec(described)?.[1] ?? 'of an unknown version';
  } finally {
    await server.stop();
  }
}
