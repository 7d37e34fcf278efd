/** ApacheBench, which the document used: runs it and parses its output. */
import { execFileSync } from 'node:child_process';
import { x } from 'tinyexec';

/** The lines of its report that the document shows, in its order, with their units. */
export const reportLines = {
  'Concurrency Level': '',
  'Time taken for tests': 's',
  'Complete requests': '',
  'Failed requests': '',
  'Keep-Alive requests': '',
  'Total transferred': 'bytes',
  'HTML transferred': 'bytes',
  'Requests per second': '#/s',
  'Time per request (mean)': 'ms',
  'Time per request (mean, across all concurrent requests)': 'ms',
  'Transfer rate': 'KB/s',
} as const;

/** Its Connection Times, in milliseconds. */
export const connectionLines = ['Connect', 'Processing', 'Waiting', 'Total'] as const;
export const connectionColumns = ['min', 'mean', '+/-sd', 'median', 'max'] as const;

export type ReportLine = keyof typeof reportLines;
export type ConnectionTime =
  `${(typeof connectionLines)[number]}, ${(typeof connectionColumns)[number]}`;
export type Report = Readonly<Record<ReportLine | ConnectionTime, number>>;

/** Undefined when it is not installed. */
export function abVersion(): string | undefined {
  try {
    return /Version ([\d.]+)/.exec(execFileSync('ab', ['-V'], { encoding: 'utf8' }))?.[1];
  } catch {
    return undefined;
  }
}

/** Throws if a request fails or its answer does not have the given length. */
export async function runAb(
  url: string,
  { requests, concurrency, bytes }: Readonly<Record<'requests' | 'concurrency' | 'bytes', number>>,
): Promise<Report> {
  // No time limit for a single request, because the last one of the sync route waits for all others.
  const numbers = ['-c', String(concurrency), '-n', String(requests), '-s', '120'];
  const { stdout } = await x('ab', ['-k', ...numbers, url], { throwOnError: true });
  const report = parseReport(stdout);
  if (report['Complete requests'] !== requests || report['Failed requests'] !== 0) {
    const failures = /\(Connect: .*\)/.exec(stdout)?.[0] ?? '';
    throw new Error(`ab completed ${report['Complete requests']} of ${requests} ${failures}`);
  }
  if (report['HTML transferred'] !== requests * bytes) throw new Error('answers were too short');
  return report;
}

export function parseReport(text: string): Report {
  if (/^Non-2xx responses:/m.test(text)) throw new Error('ab got answers other than 2xx');
  const printed = text.split('\n');
  const lines = Object.keys(reportLines).map((line) => {
    const [, title = line, detail = ''] = /^(.*?)(?: (\(.*\)))?$/.exec(line) ?? [];
    const found = printed.find((one) => one.startsWith(`${title}:`) && one.endsWith(detail));
    return [line, numbersIn(line, found, 1)[0]];
  });
  const times = connectionLines.flatMap((line) => {
    const found = printed.find((one) => one.startsWith(`${line}:`));
    const numbers = numbersIn(line, found, connectionColumns.length);
    return connectionColumns.map((column, index) => [`${line}, ${column}`, numbers[index]]);
  });
  return Object.fromEntries([...lines, ...times]);
}

function numbersIn(line: string, printed: string | undefined, count: number): readonly number[] {
  const found = printed?.slice(printed.indexOf(':')).match(/[\d.]+/g) ?? [];
  if (found.length < count) throw new Error(`ab printed no ${line}`);
  return found.slice(0, count).map(Number);
}
