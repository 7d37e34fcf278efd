/** oha, which the document used. */
import { findOha } from '../../../harness/oha.js';
import type { Driver, Load, LoadResult } from './driver.js';

interface Output {
  readonly summary: {
    readonly total: number;
    readonly average: number;
    readonly slowest: number;
    readonly totalData: number;
  };
  readonly statusCodeDistribution: Readonly<Record<string, number>>;
}

export function ohaDriver(): Driver | undefined {
  const found = findOha();
  if (found === undefined) return undefined;
  const { program, name } = found;
  return { name, send: (url, load, expected) => send(program, url, load, expected) };
}

async function send(
  program: string,
  url: string,
  { requests, connections }: Load,
  expected: string,
): Promise<LoadResult> {
  // Imported here, because the processes of the other cells do not need it.
  const { x } = await import('tinyexec');
  const numbers = ['-n', String(requests), '-c', String(connections)];
  const { stdout } = await x(program, ['--no-tui', '--output-format', 'json', ...numbers, url], {
    throwOnError: true,
  });
  const { summary, statusCodeDistribution }: Output = JSON.parse(stdout);
  const ok = statusCodeDistribution['200'] ?? 0;
  // It keeps no bodies, only their total length.
  const rightBodies = summary.totalData / expected.length;
  return {
    totalSeconds: summary.total,
    averageSeconds: summary.average,
    slowestSeconds: summary.slowest,
    answered: Math.min(ok, rightBodies),
  };
}
