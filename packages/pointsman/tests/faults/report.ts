/** Formats the result as a page of the documentation, without anything that identifies the machine. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem, type } from 'node:os';
import type { Fault } from './fault.js';
import type { Outcome } from './outcome.js';
import { type Part, parts } from './parts.js';

export interface Row {
  readonly fault: Fault;
  /** The outcome, or why the fault was not tried. */
  readonly result: Outcome | string;
}

const heads = ['#', 'fault', 'how', 'count', 'must also hold', 'measured', 'violations'];

const introduction = `# The shared primitives under faults

\`make faults\` runs the primitives of \`pointsman/shared\` in several processes on one machine and injects faults: killed and stopped processes, lost connections, restarts and fail-overs of the server, clock jumps. It checks the guarantees of the [locks](shared/locks.md#guarantees) and the [limiter](shared/rate-limiting.md#guarantees), and writes the figures below.

\`\`\`sh
make faults              # all parts except \`million\`, about 40 minutes
make faults PART=limiter # one part
make faults FAULT=g2     # one row; prints the result and does not change this page
\`\`\`

The parts are \`mutex\`, \`host\`, \`rwlock\`, \`semaphore\`, \`leader\`, \`million\` and \`limiter\`. The tests run all rows of \`mutex\`, \`host\` and \`limiter\` in a short form, and of the other locks the row that kills and stops every process, and the row of a leader that closes.

## How locks are judged

Each client process logs when it requested a lock, when it got it, until when its guard was valid, and when it left. All times are of the machine's monotonic clock. A judge reads the logs after the run and does not query the store. It counts a holder as valid only as long as its own guard said so. In every row:

- No two holders of a key that exclude each other are valid at the same time.
- No lock is handed out invalid. If the process was paused during the hand-out and the lease ended during that pause, the grant counts as _overtaken_, not as a violation.
- The store's state never contradicts a valid holder.
- Tokens grow in the order of the grants, as far as that order is known: between holders that exclude each other, and, except for permits of a semaphore, between a holder and each request made after it had entered. So a fenced store accepts no write of an earlier holder after one of a later holder.
- The signal of a lost lock aborts, and a lost lock stays lost.
- Every request settles in bounded time once the fault is over.
- After the last \`close()\` the store is as empty as before, within 3 \`ttl\` if processes were killed.
- Only errors that the fault explains occur.

Two results are _excused_, and appear as such in the column "measured": in rows in which the server loses its state, a valid holder that the server has forgotten, until the guard's next renewal; in rows that kill and stop every process and a Redis server, a lock that was handed out invalid.

## What is not covered

- **Several machines.** All processes and servers run on one machine. Proxies delay, reset and swallow connections; no real network is involved.
- **Other servers.** The server is Redis, as one primary with at most one replica. Sentinel, Valkey and clusters are not covered, except for one \`MOVED\` error in row g7.
- **Hardware.** Power failures, disk errors and full disks are not injected.
- **Other systems.** The figures are of Linux and one version of Node.
- **The concurrency of a limiter** in rows g3 to g5: while the server is unreachable, a running request may lose its concurrency, so the judge skips that check.

## How to read the tables

Times are milliseconds; \`ttl\` is the time for which the store keeps the locks of a silent process. A critical section is one lock and its release. "Stale writes refused" are writes of a holder whose guard had ended, which a fenced store rejected. "Rejected" counts requests that ended with an error, by its name.

On a busy machine locks take longer. If a process gets no CPU time for one \`ttl\`, or a connection takes longer than a second, requests are refused with a \`StoreError\`, and the row "crowds" reports them as not served.
`;

/** Returns the page with the parts that were tried; of others it keeps what it had. */
export function page(before: string, tried: ReadonlyMap<Part, string>): string {
  const kept = new Map(
    before
      .split(/^(?=## )/m)
      .slice(1)
      .map((text) => [text.slice(3, text.indexOf('\n')), text.trim()]),
  );
  const texts = parts.flatMap((part) => tried.get(part) ?? kept.get(part.title) ?? []);
  return `${[introduction.trim(), ...texts].join('\n\n')}\n`;
}

export function partText(
  { title, text, name }: Part,
  rows: readonly Row[],
  server: string,
  minutes: number,
): string {
  const violations = rows.flatMap(({ result }) =>
    typeof result === 'string' ? [] : result.violations,
  );
  const lines = rows.map(({ fault, result }) => {
    const { number, name, how, holds } = fault;
    if (typeof result === 'string')
      return [number, name, how, '', holds, `not tried: ${result}`, ''];
    const count = String(result.violations.length);
    return [number, name, how, counted(result.counts), holds, measured(result), count];
  });
  const verdict = violations.length === 0 ? 'No violation.' : `${violations.length} violations.`;
  return `## ${title}

${verdict} ${text}

${table([heads, ...lines])}

\`make faults PART=${name}\`, ${new Date().toISOString().slice(0, 10)}, ${minutes.toFixed()} minutes, ttl ${ttls(rows)} ms. ${machine()}, Node ${process.versions.node}, Redis ${server}.`;
}

/** Formats the table as biome does. */
function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [head, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('\n');
}

export function counted(counts: Outcome['counts']): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString('en')} ${name}`)
    .join('; ');
}

export function measured(outcome: Outcome): string {
  const { entered, overtaken, longestWait, staleWritesRefused, samples, excused, rejected } =
    outcome;
  const isCounted = outcome.counts['critical sections'] !== undefined;
  const facts =
    entered > 0 && !isCounted ? [`${entered.toLocaleString('en')} critical sections`] : [];
  for (const [name, list] of Object.entries(samples)) {
    const sorted = list.toSorted((one, other) => one - other);
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]?.toFixed(1);
    facts.push(
      sorted.length > 2
        ? `${name} ${at(0.5)} (median), ${at(0.99)} (p99), ${at(1)} (max)`
        : `${name} ${at(1)}`,
    );
  }
  if (longestWait > 0) facts.push(`longest wait ${longestWait.toFixed()}`);
  if (overtaken > 0) facts.push(`${overtaken} overtaken`);
  if (staleWritesRefused > 0) facts.push(`${staleWritesRefused} stale writes refused`);
  const kinds = new Map<string, number>();
  for (const { kind } of excused) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  for (const [kind, count] of kinds) facts.push(`${count} ${kind} (excused)`);
  const errors = Object.entries(rejected);
  if (errors.length > 0) {
    facts.push(`rejected: ${errors.map(([name, count]) => `${count} ${name}`).join(', ')}`);
  }
  return facts.join('; ');
}

function ttls(rows: readonly Row[]): string {
  return [...new Set(rows.map(({ fault }) => fault.full.ttl))].join(' or ');
}

function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  const cpu = cpus()[0]?.model.trim() ?? 'unknown processor';
  return `${availableParallelism()} cores of ${cpu}, ${memory} GiB, ${system()}`;
}

function system(): string {
  try {
    const described = readFileSync('/etc/os-release', 'utf8').match(/^PRETTY_NAME="?([^"\n]+)/m);
    return described?.[1] ?? type();
  } catch {
    return type();
  }
}
