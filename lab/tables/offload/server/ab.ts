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

export type ReportLine = keyof typeof reportLines;
export type Report = Readonly<Record<ReportLine, number>>;

/** Undefined when it is not installed. */
export function abVersion(): string | undefined {
  try {
    return /Version ([\d.]+)/.exec(execFileSync('ab', ['-V'], { encoding: 'utf8' }))?.[1];
  } catch {
    return undefined;
  }
}

export async function runAb(url: string, requests: number, concurrency: number): Promise<Report> {
  // No time limit for a single request, because the last one of the sync route waits for all others.
  const numbers = ['-c', String(concurrency), '-n', String(requests), '-s', '120'];
  const { stdout } = await x('ab', ['-k', ...numbers, url], { throwOnError: true });
  return parseReport(stdout);
}

export function parseReport(text: string): Report {
  if (/^Non-2xx responses:/m.test(text)) throw new Error('ab got answers other than 2xx');
  const entries = Object.keys(reportLines).map((line) => {
    const [, title = line, detail] = /^(.*?)(?: (\(.*\)))?$/.exec(line) ?? [];
    const found = text
      .split('\n')
      .filter((printed) => printed.startsWith(`${title}:`))
      .find((printed) => detail === undefined || printed.endsWith(detail));
    const value = Number.parseFloat(found?.slice(title.length + 1) ?? '');
    if (Number.isNaN(value)) throw new Error(`ab printed no ${line}`);
    return [line, value];
  });
  return Object.fromEntries(entries);
}
