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

\`make faults\` writes this page, and \`make faults PART=limiter\` one part of it: mutex, host, rwlock, semaphore, leader, million or limiter. \`make faults FAULT=g2\` tries one row. A short form of most rows is part of the tests.

Client processes use a primitive on a real store. A judge that does not query the store reads when each of them got a lock, how long its guard was valid, and when it left, all by the machine's monotonic clock. In every row of a lock

- no two holders of a key that exclude each other are valid at the same time;
- no lock is handed out invalid (a lock that ended less than 50 ms before, while the process was paused during the hand-out, counts as overtaken), and the store's state never contradicts a valid holder;
- tokens grow in the order of the grants, as far as that order is known: if the holders exclude each other, or, except for permits of a semaphore, if one was requested after the other had entered. So a fenced store accepts no write of an earlier holder after one of a later holder;
- the signal of a lost lock aborts, and a lost lock stays lost;
- every request is answered in bounded time once the fault is over;
- after the last \`close()\` the server is as empty as before, within 3 ttl if processes were killed;
- every error is explained by the fault.

Under other load locks take longer. If a process gets no CPU time for as long as a lease, or a connection takes longer than a second, requests are refused with a \`StoreError\`, and the row of crowds reports them as not served.

Times are milliseconds.
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
  const verdict =
    violations.length === 0 ? 'No promise was broken.' : `${violations.length} violations.`;
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
    .join(', ');
}

export function measured(outcome: Outcome): string {
  const { entered, overtaken, longestWait, staleWritesRefused, samples, excused, rejected } =
    outcome;
  const facts = entered > 0 ? [`${entered.toLocaleString('en')} critical sections`] : [];
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
  if (overtaken > 0) facts.push(`${overtaken} overtaken by their end at the hand-out`);
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
